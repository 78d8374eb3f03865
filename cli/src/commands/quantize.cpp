#include "options/host_options.h"
#include "program/command.h"

#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/quantize_model.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class Quantize final : public Command {
 public:
  std::string_view name() const override { return "quantize"; }
  std::string_view summary() const override { return "round a model's weights to int8 or bf16"; }
  std::string_view examples() const override {
    return "dragoman quantize models/de-en --output models/de-en-int8\n"
           "dragoman quantize models/de-en --type bf16 --output models/de-en-bf16\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("model,m", po::value(&model_)->required()->value_name("DIR"),
         "required: model folder, or model of another toolkit")(
            "output,o", po::value(&output_)->required()->value_name("DIR"), "required: the model folder to write")(
            "type", po::value(&type_)->default_value("int8")->value_name("TYPE"),
            "int8: a quarter of the size in fp32; bf16: half of it");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"model"}; }

  void run(const Session& session) override {
    const auto type = tensor::find_compute_choice(type_);
    if (type != tensor::ComputeChoice::kI8 && type != tensor::ComputeChoice::kBF16)
      throw UsageError("--type " + type_ + ": must be int8 or bf16");
    plugins::Host host(host_options_);
    const auto megabytes = [](const std::string& folder) {
      std::error_code gone;
      const auto bytes =
          std::filesystem::file_size(std::filesystem::path(folder) / formats::ModelFiles::kWeights, gone);
      return gone ? 0 : static_cast<double>(bytes) / 1e6;
    };
    const double before = megabytes(model_);
    plugins::quantize_model(model_, output_, *type, host, session.stop);
    core::log(
        session.log, core::LogLevel::kInfo,
        fmt::format("{}: {:.1f} MB of weights as {}, were {:.1f} MB", output_, megabytes(output_), type_, before));
  }

 private:
  std::string model_;
  std::string output_;
  std::string type_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_quantize() {
  return std::make_unique<Quantize>();
}

}  // namespace dragoman::cli
