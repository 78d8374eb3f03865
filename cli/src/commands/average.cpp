#include "options/host_options.h"
#include "program/command.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/formats/average.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/host.h>
#include <dragoman/training/average_checkpoints.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using std::filesystem::path;

class Average final : public Command {
 public:
  std::string_view name() const override { return "average"; }
  std::string_view summary() const override { return "average the weights of several models or checkpoints"; }
  std::string_view examples() const override {
    return "dragoman average run/best other-run/best --output averaged\n"
           "dragoman average run/checkpoint-8000 run/checkpoint-10000 --output averaged\n"
           "dragoman average first.safetensors second.safetensors --output averaged.safetensors\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("model,m", po::value(&inputs_)->multitoken()->required()->value_name("MODEL..."),
         "required: model folders, or checkpoints in the folders of their runs, for a model folder; or safetensors "
         "files, for a safetensors file")  //
        ("output,o", po::value(&output_)->required()->value_name("PATH"), "required: the folder or file to write");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"model"}; }

  void run(const Session& session) override {
    const std::vector<path> inputs(inputs_.begin(), inputs_.end());
    for (const path& input : inputs)
      core::require(std::filesystem::exists(input), core::ErrorCode::kIo, "{}: there is no such file or folder",
                    input.string());
    const auto all = [&](bool (*is_of_kind)(const path&)) { return std::ranges::all_of(inputs, is_of_kind); };
    if (all(formats::is_model_folder)) {
      require_name_of_a_folder();
      formats::average_models(inputs, output_);
    } else if (all(training::is_checkpoint)) {
      require_name_of_a_folder();
      plugins::Host host(host_options_);
      training::TrainerEnvironment environment = training::make_environment(host);
      environment.log = session.log;
      training::average_checkpoints(inputs, output_, environment);
    } else if (all([](const path& input) { return !std::filesystem::is_directory(input); })) {
      formats::average_parameters(inputs, output_);
    } else {
      for (const path& input : inputs)
        if (!training::is_checkpoint(input) && std::filesystem::is_directory(input)) formats::load_model_config(input);
      throw UsageError("average: name model folders only, or checkpoints of runs only, or safetensors files only");
    }
    core::log(session.log, core::LogLevel::kInfo, fmt::format("{}: the mean of {} models", output_, inputs.size()));
  }

 private:
  void require_name_of_a_folder() const {
    const path output(output_);
    if (output.extension() == ".safetensors" && !std::filesystem::is_directory(output))
      throw UsageError(
          fmt::format("--output {}: the mean of model folders or checkpoints is a model folder; name it without "
                      ".safetensors",
                      output_));
  }

  std::vector<std::string> inputs_;
  std::string output_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_average() {
  return std::make_unique<Average>();
}

}  // namespace dragoman::cli
