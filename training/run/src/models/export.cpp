#include "models/export.h"

#include "run/checkpoint.h"

#include <deque>
#include <new>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/yaml.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/imports/adapters.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/training/low_rank_adapters.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::Json;

/// Escapes the bars of a signature, which would end a cell of the table.
std::string in_cell(const std::string& signature) {
  std::string text = "`";
  for (const char letter : signature) {
    if (letter == '|') text += '\\';
    text += letter;
  }
  return text + "`";
}

std::string score_table(const ValidationResult& scores) {
  std::string text = "| metric | value | signature |\n|---|---|---|\n";
  text += fmt::format("| perplexity | {:.3f} | per target token, {} tokens |\n", scores.perplexity, scores.tokens);
  for (const evaluation::Score& score : scores.scores)
    text += fmt::format("| {} | {:.2f} | {} |\n", score.name, score.value,
                        score.signature.empty() ? "of a program" : in_cell(score.signature));
  return text;
}

}  // namespace

void average_tensors(std::span<const fs::path> files, const nn::ParameterStore& parameters) {
  const tensor::Tensor flat = parameters.flat_values();
  const std::vector<NamedTensor> views = parameter_views(parameters);
  std::vector<double> sums(static_cast<std::size_t>(flat.size()));
  for (const fs::path& file : files) {
    load_tensors(file, views);
    const auto loaded = tensor::HostView::of(parameters.memory(), flat);
    for (std::int64_t i = 0; i < flat.size(); ++i)
      sums[static_cast<std::size_t>(i)] += tensor::element(loaded.tensor(), 0, i);
  }
  const auto mean = tensor::HostView::to_be_written(parameters.memory(), flat);
  for (std::int64_t i = 0; i < flat.size(); ++i)
    tensor::set_element(mean.tensor(), 0, i, sums[static_cast<std::size_t>(i)] / static_cast<double>(files.size()));
  mean.store();
}

void require_room_for_models(const TrainingConfig& config) {
  const fs::path run = config.output;
  formats::require_replaceable(run / RunFiles::kLast);
  if (!config.data.validation.empty()) formats::require_replaceable(run / RunFiles::kBest);
  if (config.checkpoint.average > 0) formats::require_replaceable(run / RunFiles::kAverage);
  if (!config.training.lora.on()) return;
  formats::require_replaceable(run / RunFiles::kBase);
  for (const char* name : RunFiles::kModels)
    imports::require_room_for_adapters(run / (std::string(name) + RunFiles::kAdapterSuffix));
}

std::string ModelExports::card(const ModelOrigin& origin) const {
  std::string text =
      fmt::format("# {}\n\nA `{}` model trained with Dragoman: {}, after {} updates.\n",
                  fs::path(config_->output).filename().string(), config_->model.type, origin.title, origin.update);
  if (origin.scores != nullptr) text += "\n## Scores on the validation set\n\n" + score_table(*origin.scores);
  if (record_->contains("start"))
    text += fmt::format("\n## Begins with\n\n`{}`, whose licence holds for this model, too.\n",
                        (*record_)["start"].value("folder", ""));
  text += "\n## Data\n\nSee `data` below. Fingerprints of the content:\n\n";
  for (const auto& [name, value] : (*record_)["data"].items())
    text += fmt::format("- {}: `{}`\n", name, value.get<std::string>());
  if (const auto forks = record_->find("forks"); forks != record_->end()) {
    text += "\n## Forks\n\nThe recipe below is that of the last part; the run was continued with other settings:\n\n";
    for (const Json& fork : *forks)
      text += fmt::format("- after update {}: {}\n", fork.value("update", std::int64_t{0}), fork.value("changed", ""));
  }
  text += "\n## Licence\n\nNot stated. Whoever publishes this model states one that the training data allow.\n";
  text += "\n## Recipe\n\n```yaml\n" + core::dump_yaml((*record_)["configuration"]) + "\n```\n";
  return text;
}

formats::TokenizerOpener ModelExports::opener() const {
  return [this](const tokenizer::TokenizerSpec& spec, const tokenizer::TokenizerFile& file, const std::string&) {
    return environment_->make_tokenizer(spec, file);
  };
}

void ModelExports::set_decoding(const fs::path& folder, const Json& decoding) const {
  formats::write_decoding_defaults(folder, folder, decoding, opener());
}

void ModelExports::write_base(const nn::Seq2SeqModel& model) const {
  write_folder(fs::path(config_->output) / RunFiles::kBase, model,
               {.title = "the model that the adapters of the run are for"}, tensor::DType::kF32);
}

void ModelExports::write_to(const fs::path& folder, const nn::Seq2SeqModel& model, const ModelOrigin& origin) const {
  write_folder(folder, model, origin, config_->checkpoint.export_f16 ? tensor::DType::kF16 : tensor::DType::kF32);
}

void ModelExports::write_folder(const fs::path& folder, const nn::Seq2SeqModel& model, const ModelOrigin& origin,
                                tensor::DType dtype) const {
  formats::ModelFolderContent content;
  content.model_type = config_->model.type;
  content.plugin = plugin_;
  content.model = &model;
  if (tokenizers_->joint()) {
    content.tokenizer = tokenizers_->source.spec;
  } else {
    content.source_tokenizer = tokenizers_->source.spec;
    content.target_tokenizer = tokenizers_->target.spec;
  }
  content.card = card(origin);
  content.dtype = dtype;
  if (record_->contains("start")) content.decoding = (*record_)["start"].value("decoding", Json::object());
  if (record_->contains("start") && (*record_)["start"].contains("languages"))
    content.languages =
        formats::read_language_table((*record_)["start"]["languages"], model.spec(), "run.json: start: languages");
  content.opener = opener();
  formats::write_model_folder(folder, content);
}

/// Writes the adapters to a folder next to the model into which they are merged, in the form of PEFT.
void ModelExports::write_adapters(const std::string& name, const nn::ParameterStore& adapters,
                                  const nn::Seq2SeqModel& model) const {
  const LoraConfig& lora = config_->training.lora;
  imports::AdapterSet set{.model_type = config_->model.type,
                          .model = model.config(),
                          .base = fs::path("..") / RunFiles::kBase,
                          .rank = lora.rank,
                          .alpha = lora.alpha,
                          .weights = {}};
  std::deque<tensor::HostView> views;  // own the memory of the tensors
  const auto on_host = [&](const nn::Parameter& parameter) {
    return views.emplace_back(tensor::HostView::of(adapters.memory(), parameter.value)).tensor();
  };
  for (const nn::Parameter& a : adapters.all()) {
    if (!a.name.ends_with(kLoraA)) continue;
    const std::string weight = a.name.substr(0, a.name.size() - kLoraA.size());
    const nn::Parameter& b = *adapters.find(weight + std::string(kLoraB));
    set.weights.push_back({.parameter = weight,
                           .projections = model.parameters().find(weight)->projections,
                           .a = on_host(a),
                           .b = on_host(b)});
  }
  imports::write_adapters(fs::path(config_->output) / (name + RunFiles::kAdapterSuffix), set);
}

bool ModelExports::write(const std::string& name, const Snapshot& state, const ModelOrigin& origin) {
  try {
    write_to(fs::path(config_->output) / name, *state.model, origin);
    if (state.adapters) write_adapters(name, *state.adapters, *state.model);
    unwritten_.erase(name);
    return true;
  } catch (const std::bad_alloc&) {
    note_unwritten(name, "there was not enough memory");
  } catch (const std::exception& error) {
    note_unwritten(name, error.what());
  }
  return false;
}

void ModelExports::note_unwritten(const std::string& name, std::string_view reason) {
  unwritten_[name] = reason;
  core::log(environment_->log, core::LogLevel::kWarning,
            fmt::format("the model {} could not be written: {}", name, reason));
}

void ModelExports::require_written(const fs::path& checkpoint) const {
  if (unwritten_.empty()) return;
  std::string names;
  for (const auto& [name, reason] : unwritten_) names += (names.empty() ? "" : " and ") + name;
  core::fail_option(
      "resume", core::ErrorCode::kIo,
      "training is done and {} is kept, but {} could not be written: {}; remove the cause and run it again with "
      "`resume`",
      checkpoint.string(), names, unwritten_.begin()->second);
}

}  // namespace dragoman::training
