#include "options/model_options.h"

#include "options/host_options.h"
#include "options/memory_option.h"
#include "options/number_option.h"
#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/option_table.h>
#include <dragoman/core/options.h>
#include <dragoman/core/parallel.h>

namespace dragoman::cli {

namespace po = boost::program_options;

struct ModelOptions::Settings {
  int threads = 0;
  std::string device = "cpu";
  bool batch_invariant = false;
  std::string memory = {};
  std::optional<std::string> compute{};
  bool allow_non_finite = false;
};

core::OptionTable<ModelOptions::Settings> ModelOptions::make_table(std::string_view compute) {
  return core::OptionTable<Settings>()
      .number("threads", &Settings::threads, {.least = 0, .most = core::kMaxThreads}, "N", threads_help("threads"))
      .text("device", &Settings::device, "NAME",
            "cpu, reference (slow, double precision), a device of a plugin, or auto (the best available one); "
            "`doctor` lists them")
      .flag("batch_invariant", &Settings::batch_invariant,
            "make the bits of each sentence independent of other sentences, at a cost; always so on the CPU")
      .text("memory", &Settings::memory, "SIZE", "limit of GPU memory, such as 4GB (default: all of it)")
      .text("compute", &Settings::compute, std::string(compute), "TYPE", std::string(tensor::kModelComputeHelp))
      .flag("allow_non_finite", &Settings::allow_non_finite, "accept a model with weights that are NaN or infinite");
}

const core::OptionTable<ModelOptions::Settings>& ModelOptions::table() const {
  static const auto stored = make_table(tensor::kStoredCompute);
  static const auto automatic = make_table(tensor::name_of(tensor::ComputeChoice::kAuto));
  return translates_ ? automatic : stored;
}

ModelOptions::ModelOptions(bool translates) : translates_(translates), options_(table().options()) {}

void ModelOptions::add_to(po::options_description& options) {
  options_.add_group_to("", options);
  add_host_options(options, host_);
}

void ModelOptions::take_from(core::Json& tree, const std::string& where) {
  where_ = where;
  for (const core::Option& option : table().options()) {
    const auto found = tree.find(option.name);
    if (found == tree.end()) continue;
    configured_[option.name] = *found;
    tree.erase(found);
  }
  struct Plugins {
    std::vector<std::string> files = {};
  } plugins;
  core::OptionReader reader(tree, where);
  core::OptionTable<Plugins>().texts("plugin", &Plugins::files, "FILE", "").read(reader, plugins);
  if (host_.plugins.empty()) host_.plugins = std::move(plugins.files);
  tree.erase("plugin");
}

ModelOptions::Settings ModelOptions::settings() const {
  core::Json tree = configured_;
  tree.update(options_.said());
  core::OptionReader reader(tree, where_);
  Settings settings;
  table().read(reader, settings);
  reader.finish();
  if (!settings.compute)
    settings.compute = translates_ ? tensor::name_of(tensor::ComputeChoice::kAuto) : tensor::kStoredCompute;
  return settings;
}

std::string ModelOptions::identity() const {
  const Settings own = settings();
  return own.device + " " + *own.compute;
}

tensor::Device ModelOptions::device(plugins::Host& host, const core::LogSink& log) const {
  const Settings own = settings();
  tensor::DeviceOptions options{.batch_invariant = own.batch_invariant};
  if (!own.memory.empty()) options.memory = parse_size("--memory", own.memory);
  const tensor::Device device = host.device(own.device, options, log);
  if (own.device == runtime::kAutoDevice)
    core::log(log, core::LogLevel::kInfo, fmt::format("device {}", tensor::name_of(device)));
  if (compute() == tensor::ComputeChoice::kAuto)
    core::log(log, core::LogLevel::kInfo,
              fmt::format("compute {}, unless the model specifies a type",
                          tensor::name_of(host.runtime().inference_type(device, tensor::ComputeChoice::kAuto))));
  return device;
}

pipeline::ModelOptions ModelOptions::read(plugins::Host& host, const core::LogSink& log) const {
  const Settings own = settings();
  return {.threads = own.threads,
          .device = device(host, log),
          .compute = compute(),
          .allow_non_finite = own.allow_non_finite};
}

std::optional<tensor::ComputeChoice> ModelOptions::compute() const {
  const std::string name = *settings().compute;
  const auto found = tensor::find_compute_choice(name);
  if (!found && name != tensor::kStoredCompute)
    throw UsageError(fmt::format("{}compute '{}': must be {}, {}",
                                 configured_.contains("compute") ? where_ + ": " : "--", name, tensor::kStoredCompute,
                                 tensor::list_compute_choices()));
  return found;
}

}  // namespace dragoman::cli
