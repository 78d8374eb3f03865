#include "peft/base_model.h"

#include <dragoman/core/error.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using std::filesystem::path;

/// A model folder, read one parameter after the other.
class FolderModel final : public plugins::ForeignModel {
 public:
  explicit FolderModel(path folder)
      : folder_(std::move(folder)),
        config_(formats::load_model_config(folder_)),
        weights_(formats::SafetensorsFile::open(folder_ / formats::ModelFiles::kWeights)) {}

  plugins::ModelDescription describe() const override {
    formats::FolderTokenizers tokenizers = formats::read_tokenizers(folder_, config_);
    return {.model_type = config_.model_type,
            .plugin = config_.plugin,
            .sequences = config_.sequences,
            .model = config_.model,
            .tokenizer = std::move(tokenizers.joint),
            .source_tokenizer = std::move(tokenizers.source),
            .target_tokenizer = std::move(tokenizers.target),
            .card = formats::card_of(folder_),
            .decoding = config_.decoding,
            .shortlist = formats::shortlist_of(folder_, config_),
            .languages = config_.languages};
  }

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    weights_.read(*weights_.find(parameter.name), out);
  }

  void check(const nn::ParameterStore& parameters) const override {
    for (const nn::Parameter& parameter : parameters.all()) {
      const formats::StoredTensor* stored = weights_.find(parameter.name);
      core::require(stored != nullptr && stored->shape == formats::stored_shape(parameter), ErrorCode::kBadInput,
                    "{}: has no tensor '{}' of the shape {}", weights(), parameter.name,
                    formats::describe_shape(formats::stored_shape(parameter)));
      core::require(stored->dtype != tensor::DType::kI8, ErrorCode::kUnsupported,
                    "{}: the weights are rounded to int8; adapters belong to those that were not rounded", weights());
    }
  }
  void finish() override {}

 private:
  std::string weights() const { return (folder_ / formats::ModelFiles::kWeights).string(); }

  path folder_;
  formats::ModelConfig config_;
  formats::SafetensorsFile weights_;
};

}  // namespace

std::unique_ptr<plugins::ForeignModel> open_base_model(const path& folder,
                                                       const std::vector<plugins::ModelImporterEntry>& importers,
                                                       const std::string& where) {
  if (formats::is_model_folder(folder)) return std::make_unique<FolderModel>(folder);
  for (const plugins::ModelImporterEntry& importer : importers) {
    if (!importer.recognises(folder)) continue;
    const core::Json nothing = core::Json::object();
    core::OptionReader none(nothing, where);
    return importer.make(folder, none);
  }
  core::fail(
      ErrorCode::kBadInput,
      "{}: the model that the adapters are for, {}, is none that is known here; convert the adapters, and name its "
      "folder as the import option `base`",
      where, folder.string());
}

}  // namespace dragoman::imports
