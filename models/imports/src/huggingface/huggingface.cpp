#include "huggingface/huggingface.h"

#include "huggingface/architecture.h"
#include "huggingface/example.h"
#include "huggingface/search_settings.h"
#include "huggingface/t5.h"
#include "huggingface/tokenizers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using std::filesystem::path;

/// The folder's own card, and where the model is from.
std::string card_of(const HuggingFaceFolder& folder) {
  constexpr std::uint64_t kLongestCard = std::uint64_t{1} << 20;
  std::string text;
  std::error_code ignored;
  const path file = folder.file("README.md");
  if (folder.has("README.md") && !std::filesystem::is_symlink(file, ignored) &&
      std::filesystem::file_size(file, ignored) <= kLongestCard)
    text = core::read_regular_file(file, kLongestCard);
  return fmt::format(
      "{}{}## Imported\n\nFrom a folder of transformers, {} (model_type {}); what stands above was "
      "said of that.\n",
      text, text.empty() ? "" : "\n\n", std::filesystem::absolute(folder.path).lexically_normal().filename().string(),
      folder.config["model_type"].get<std::string>());
}

class HuggingFaceModel final : public plugins::ForeignModel {
 public:
  HuggingFaceModel(HuggingFaceFolder folder, ForeignTensors weights)
      : folder_(std::move(folder)), weights_(std::move(weights)), architecture_(read_architecture(folder_, weights_)) {
    architecture_.sequences.decoder_start = decoder_start_of(folder_, architecture_.sequences);
  }

  plugins::ModelDescription describe() const override {
    HuggingFaceTokenizers tokenizers = read_tokenizers(folder_, architecture_);
    nn::SequenceSpec sequences = architecture_.sequences;
    sequences.unknown = tokenizers.unknown;
    SearchSettings search = read_search_settings(folder_, sequences);
    return {.model_type = "transformer",
            .sequences = sequences,
            .model = transformer::to_json(architecture_.model),
            .tokenizer = std::move(tokenizers.joint),
            .source_tokenizer = std::move(tokenizers.source),
            .target_tokenizer = std::move(tokenizers.target),
            .card = card_of(folder_),
            .decoding = std::move(search.decoding),
            .languages = std::move(tokenizers.languages),
            .warnings = std::move(search.warnings)};
  }

  void check(const nn::ParameterStore& parameters) const override {
    for (const nn::Parameter& parameter : parameters.all()) {
      const ForeignRows rows = foreign_rows(parameter, architecture_);
      if (rows.any || rows.names.size() == 1) {
        weights_.check_shape(any_of(rows.names), shape_of(parameter, 1));
        continue;
      }
      const auto shape = shape_of(parameter, static_cast<std::int64_t>(rows.names.size()));
      for (const std::string& name : rows.names) weights_.check_shape(name, shape);
    }
  }

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    const ForeignRows rows = foreign_rows(parameter, architecture_);
    if (rows.any || rows.names.size() == 1) return weights_.read(any_of(rows.names), shape_of(parameter, 1), out);
    const auto parts = static_cast<std::int64_t>(rows.names.size());
    // A vector is one row, so its parts are columns.
    for (std::int64_t part = 0; part < parts; ++part)
      weights_.read(rows.names[static_cast<std::size_t>(part)], shape_of(parameter, parts),
                    parameter.rank == 1 ? out.col_range(part * out.cols / parts, (part + 1) * out.cols / parts)
                                        : out.row_range(part * out.rows / parts, (part + 1) * out.rows / parts));
  }

  void finish() override {
    leave_what_is_known(weights_, architecture_);
    weights_.finish();
  }

 private:
  const std::string& any_of(const std::vector<std::string>& names) const {
    for (const std::string& name : names)
      if (weights_.contains(name)) return name;
    return names.front();
  }

  /// Of one of so many parts.
  static std::vector<std::int64_t> shape_of(const nn::Parameter& parameter, std::int64_t parts) {
    std::vector<std::int64_t> shape = formats::stored_shape(parameter);
    shape.front() /= parts;
    return shape;
  }

  HuggingFaceFolder folder_;
  ForeignTensors weights_;
  HuggingFaceArchitecture architecture_;
};

}  // namespace

plugins::ModelImporterEntry huggingface_importer() {
  return {.name = "huggingface",
          .summary = "folders of transformers: Marian (OPUS-MT), Pegasus, BART, mBART, M2M-100, NLLB, T5, mT5, MADLAD",
          .make = [](const path& path, core::OptionReader& own) -> std::unique_ptr<plugins::ForeignModel> {
            HuggingFaceFolder folder(path);
            ForeignTensors weights = open_weights(folder);
            if (is_t5(folder)) {
              std::string card = card_of(folder);
              return open_t5(std::move(folder), std::move(weights), std::move(card), own);
            }
            return std::make_unique<HuggingFaceModel>(std::move(folder), std::move(weights));
          },
          .recognises =
              [](const path& folder) {
                const std::vector<const char*> types = huggingface_model_types();
                return is_huggingface_folder(folder, types.data(), types.size());
              },
          .write_example = write_huggingface_example,
          .why_not = [](const path& folder) { return why_no_huggingface_folder(folder, huggingface_model_types()); }};
}

}  // namespace dragoman::imports
