#include "options/model_options.h"

#include "options/host_options.h"
#include "options/memory_option.h"
#include "options/number_option.h"
#include "program/command.h"

#include <fmt/format.h>

namespace dragoman::cli {

namespace po = boost::program_options;

void ModelOptions::add_to(po::options_description& options) {
  options.add_options()("threads", thread_count(threads_), threads_help("threads").c_str())(
      "device", po::value(&device_)->default_value("cpu")->value_name("NAME"),
      "cpu, reference (slow, double precision), a device of a plugin, or auto (the best available one); `doctor` lists "
      "them")("batch-invariant", po::bool_switch(&batch_invariant_),
              "make the bits of each sentence independent of other sentences, at a cost; always so on the CPU")(
      "memory", po::value(&memory_)->value_name("SIZE"), "limit of GPU memory, such as 4GB (default: all of it)")(
      "compute", po::value(&compute_)->default_value(std::string(tensor::kStoredCompute))->value_name("TYPE"),
      fmt::format("{}; {}: the type that the model folder specifies", tensor::kComputeHelp, tensor::kStoredCompute)
          .c_str())("allow-non-finite", po::bool_switch(&allow_non_finite_),
                    "accept a model with weights that are NaN or infinite");
  add_host_options(options, host_);
}

tensor::Device ModelOptions::device(plugins::Host& host, const core::LogSink& log) const {
  tensor::DeviceOptions options{.batch_invariant = batch_invariant_};
  if (!memory_.empty()) options.memory = parse_size("--memory", memory_);
  const tensor::Device device = host.device(device_, options, log);
  if (device_ == runtime::kAutoDevice)
    core::log(log, core::LogLevel::kInfo, fmt::format("device {}", tensor::name_of(device)));
  if (compute() == tensor::ComputeChoice::kAuto)
    core::log(log, core::LogLevel::kInfo, host.runtime().describe_automatic_compute(device));
  return device;
}

pipeline::ModelOptions ModelOptions::read(plugins::Host& host, const core::LogSink& log) const {
  return {
      .threads = threads_, .device = device(host, log), .compute = compute(), .allow_non_finite = allow_non_finite_};
}

std::optional<tensor::ComputeChoice> ModelOptions::compute() const {
  const auto found = tensor::find_compute_choice(compute_);
  if (!found && compute_ != tensor::kStoredCompute)
    throw UsageError(fmt::format("--compute must be {}, {}", tensor::kStoredCompute, tensor::list_compute_choices()));
  return found;
}

}  // namespace dragoman::cli
