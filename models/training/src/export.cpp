#include "export.h"

#include <dragoman/core/yaml.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/training/checkpoint.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::Json;

std::string score_table(const ValidationResult& scores) {
  std::string text = "| metric | value | signature |\n|---|---|---|\n";
  text += fmt::format("| perplexity | {:.3f} | per target token, {} tokens |\n", scores.perplexity, scores.tokens);
  for (const auto* score : {&scores.bleu, &scores.chrf})
    if (score->has_value())
      text += fmt::format("| {} | {:.2f} | `{}` |\n", (*score)->name, (*score)->value, (*score)->signature);
  return text;
}

std::string model_card(const TrainingConfig& config, const ModelOrigin& origin) {
  std::string text =
      fmt::format("# {}\n\nA `{}` model trained with Dragoman: {}, after {} updates.\n",
                  fs::path(config.output).filename().string(), config.model.type, origin.title, origin.update);
  if (origin.scores != nullptr) text += "\n## Scores on the validation set\n\n" + score_table(*origin.scores);
  text += "\n## Data\n\nSee `data` below. Fingerprints of the content:\n\n";
  for (const auto& [name, value] : origin.run_record["data"].items())
    text += fmt::format("- {}: `{}`\n", name, value.get<std::string>());
  text += "\n## Licence\n\nNot stated. Whoever publishes this model states one that the training data allow.\n";
  text += "\n## Recipe\n\n```yaml\n" + core::dump_yaml(origin.run_record["configuration"]) + "\n```\n";
  return text;
}

}  // namespace

void average_tensors(std::span<const fs::path> files, const nn::ParameterStore& parameters) {
  const tensor::Tensor flat = parameters.flat_values();
  const std::vector<NamedTensor> views = parameter_views(parameters);
  std::vector<double> sums(static_cast<std::size_t>(flat.size()));
  for (const fs::path& file : files) {
    load_tensors(file, views);
    for (std::int64_t i = 0; i < flat.size(); ++i) sums[static_cast<std::size_t>(i)] += tensor::element(flat, 0, i);
  }
  for (std::int64_t i = 0; i < flat.size(); ++i)
    tensor::set_element(flat, 0, i, sums[static_cast<std::size_t>(i)] / static_cast<double>(files.size()));
}

void export_model(const fs::path& folder, const nn::Seq2SeqModel& model, const TrainingConfig& config,
                  const ModelOrigin& origin) {
  formats::ModelFolderContent content;
  content.model_type = config.model.type;
  content.plugin = origin.plugin;
  content.model = &model;
  if (config.data.source_tokenizer == config.data.target_tokenizer) {
    content.tokenizer = config.data.source_tokenizer;
  } else {
    content.source_tokenizer = config.data.source_tokenizer;
    content.target_tokenizer = config.data.target_tokenizer;
  }
  content.card = model_card(config, origin);
  content.dtype = config.checkpoint.export_f16 ? tensor::DType::kF16 : tensor::DType::kF32;
  formats::write_model_folder(folder, content);
}

}  // namespace dragoman::training
