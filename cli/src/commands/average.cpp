#include "options/input_guard.h"
#include "program/command.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/formats/average.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using std::filesystem::path;

/// The weights that a path without configuration stands for: itself, or those of a checkpoint, which must be sound.
path weights_of(const path& input) {
  if (!std::filesystem::is_directory(input)) return input;
  formats::verify_checksums_if_there(input);
  return input / formats::ModelFiles::kWeights;
}

class Average final : public Command {
 public:
  std::string_view name() const override { return "average"; }
  std::string_view summary() const override { return "average the weights of several models or checkpoints"; }
  std::string_view examples() const override {
    return "dragoman average run/best other-run/best --output averaged\n"
           "dragoman average run/checkpoint-8000 run/checkpoint-10000 --output averaged.safetensors\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("model,m", po::value(&inputs_)->multitoken()->required()->value_name("MODEL..."),
         "model folders, which give a model folder; or safetensors files and checkpoints, which give a safetensors "
         "file")  //
        ("output,o", po::value(&output_)->required()->value_name("PATH"), "the folder or file to write");
  }
  std::vector<std::string> positional() const override { return {"model"}; }

  void run(const Session& session) override {
    const std::vector<path> inputs(inputs_.begin(), inputs_.end());
    for (const path& input : inputs)
      core::require(std::filesystem::exists(input), core::ErrorCode::kIo, "{}: there is no such file or folder",
                    input.string());
    require_not_an_input(output_, inputs);
    const auto folders = std::ranges::count_if(inputs, formats::is_model_folder);
    if (folders != 0 && folders != std::ssize(inputs))
      throw UsageError("average: name model folders only, or weight files and checkpoints only");
    if (folders != 0)
      formats::average_models(inputs, output_);
    else
      average_files(inputs);
    core::log(session.log, core::LogLevel::kInfo, fmt::format("{}: the mean of {} models", output_, inputs.size()));
  }

 private:
  void average_files(const std::vector<path>& inputs) const {
    std::vector<path> files;
    for (const path& input : inputs) files.push_back(weights_of(input));
    formats::average_parameters(files, output_);
  }

  std::vector<std::string> inputs_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_average() {
  return std::make_unique<Average>();
}

}  // namespace dragoman::cli
