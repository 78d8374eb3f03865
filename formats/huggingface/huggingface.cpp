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

/// Returns the folder's own card and the origin of the model.
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

HuggingFaceArchitecture architecture_of(const HuggingFaceFolder& folder, const ForeignTensors& weights) {
  HuggingFaceArchitecture architecture = read_architecture(folder, weights);
  architecture.sequences.decoder_start = decoder_start_of(folder, architecture.sequences);
  return architecture;
}

formats::ModelContents contents_of(const HuggingFaceFolder& folder, const HuggingFaceArchitecture& architecture) {
  HuggingFaceTokenizers tokenizers = read_tokenizers(folder, architecture);
  nn::SequenceSpec sequences = architecture.sequences;
  sequences.unknown = tokenizers.unknown;
  SearchSettings search = read_search_settings(folder, sequences);
  return {.config = {.model_type = "transformer",
                     .plugin = {},
                     .sequences = sequences,
                     .model = transformer::to_json(architecture.model),
                     .decoding = std::move(search.decoding),
                     .languages = std::move(tokenizers.languages)},
          .tokenizers = {.joint = std::move(tokenizers.joint),
                         .source = std::move(tokenizers.source),
                         .target = std::move(tokenizers.target)},
          .card = card_of(folder),
          .warnings = std::move(search.warnings)};
}

class HuggingFaceModel final : public formats::ImportedModel {
 public:
  HuggingFaceModel(const HuggingFaceFolder& folder, ForeignTensors weights, HuggingFaceArchitecture architecture)
      : ImportedModel(folder.path, contents_of(folder, architecture)),
        weights_(std::move(weights)),
        architecture_(std::move(architecture)) {}

  void check(const nn::ParameterStore& parameters) const override {
    for (const nn::Parameter& parameter : parameters.all()) {
      const std::vector<std::string> names = foreign_rows(parameter, architecture_);
      const auto shape = shape_of(parameter, static_cast<std::int64_t>(names.size()));
      for (const std::string& name : names) weights_.check_shape(name, shape);
    }
  }

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    const std::vector<std::string> names = foreign_rows(parameter, architecture_);
    const auto parts = static_cast<std::int64_t>(names.size());
    // A vector is one row, so its parts are columns.
    for (std::int64_t part = 0; part < parts; ++part)
      weights_.read(names[static_cast<std::size_t>(part)], shape_of(parameter, parts),
                    parameter.rank == 1 ? out.col_range(part * out.cols / parts, (part + 1) * out.cols / parts)
                                        : out.row_range(part * out.rows / parts, (part + 1) * out.rows / parts));
  }

  void finish() override {
    leave_what_is_known(weights_, architecture_);
    weights_.finish();
  }

 private:
  /// Returns the stored shape of one of `parts` equal parts.
  static std::vector<std::int64_t> shape_of(const nn::Parameter& parameter, std::int64_t parts) {
    std::vector<std::int64_t> shape = formats::stored_shape(parameter);
    shape.front() /= parts;
    return shape;
  }

  ForeignTensors weights_;
  HuggingFaceArchitecture architecture_;
};

}  // namespace

formats::ModelImporter huggingface_importer() {
  return {.name = "huggingface",
          .summary = "folders of transformers: Marian (OPUS-MT), Pegasus, BART, mBART, M2M-100, NLLB, T5, mT5, MADLAD",
          .make = [](const path& path, core::OptionReader& own) -> std::unique_ptr<formats::OpenedModel> {
            HuggingFaceFolder folder(path);
            ForeignTensors weights = open_weights(folder);
            if (is_t5(folder)) {
              std::string card = card_of(folder);
              return open_t5(std::move(folder), std::move(weights), std::move(card), own);
            }
            HuggingFaceArchitecture architecture = architecture_of(folder, weights);
            return std::make_unique<HuggingFaceModel>(folder, std::move(weights), std::move(architecture));
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
