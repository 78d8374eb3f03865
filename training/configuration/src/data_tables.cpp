#include "configuration/config_tables.h"
#include "configuration/text_config.h"
#include "dragoman/training/option_table.h"
#include "table_values.h"

#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

using core::Json;
using core::Option;
using core::OptionReader;
using core::OptionTable;

Option files_option(std::string name, std::string help) {
  return {.name = std::move(name), .placeholder = "{source: FILE, target: FILE}", .help = std::move(help)};
}

void read_train(OptionReader& data, DataConfig& config) {
  data.check(data.has("train"), "train", "is missing: give train: {source: FILE, target: FILE}");
  config.train = read_texts(data, "train", true);
}

void read_validation_texts(OptionReader& data, DataConfig& config) {
  if (data.has("validation")) config.validation = read_texts(data, "validation", false);
}

/// Reads phases, which follow the texts in the configuration because they weight them.
void read_phases_of(OptionReader& data, DataConfig& config) {
  config.phases = read_phases(data, parts_of(config.train).size());
}

void write_phases(const DataConfig& config, Json& json) {
  if (!config.phases.empty()) json["phases"] = to_json(config.phases);
}

/// Reads FILE, or {file: FILE, type: NAME, options: {...}}.
tokenizer::TokenizerSpec read_tokenizer(OptionReader& parent, std::string_view key) {
  const Json& tree = parent.subtree(key);
  if (tree.is_string()) return {.file = tree.get<std::string>()};
  parent.check(tree.is_object(), key, "must be the name of a file, or {file: FILE, type: NAME}");
  OptionReader reader = parent.child(key);
  tokenizer::TokenizerSpec spec{.file = reader.require_key<std::string>("file")};
  spec.type = reader.require_key<std::string>("type");
  reader.check(!spec.type.empty(), "type", "must be the name of a registered kind; `plugins list` shows them");
  if (reader.has("options")) spec.options = reader.subtree("options");
  reader.check(spec.options.get().is_object(), "options", "must hold keys and values");
  reader.finish();
  return spec;
}

void read_tokenizer_configs(OptionReader& data, DataConfig& config) {
  const Json& tree = data.subtree("tokenizer");
  if (tree.is_null()) return;  // the tokenizers of model.from
  data.check(
      tree.is_string() || tree.is_object(), "tokenizer",
      "is missing: name the tokenizer.json that `dragoman learn-bpe` wrote, or one for source and one for target");
  if (tree.is_string() || tree.contains("file") || tree.contains("type")) {
    config.source_tokenizer = config.target_tokenizer = read_tokenizer(data, "tokenizer");
    return;
  }
  OptionReader both = data.child("tokenizer");
  for (const char* side : {"source", "target"})
    both.check(both.has(side), side, "is missing: each side needs a tokenizer");
  config.source_tokenizer = read_tokenizer(both, "source");
  config.target_tokenizer = read_tokenizer(both, "target");
  both.finish();
}

Json to_json(const tokenizer::TokenizerSpec& spec) {
  if (spec.type.empty() && spec.options.empty()) return spec.file;
  Json json{{"file", spec.file}, {"type", spec.type}};
  if (!spec.options.empty()) json["options"] = spec.options.get();
  return json;
}

void write_tokenizer_configs(const DataConfig& config, Json& json) {
  if (config.source_tokenizer.file.empty()) return;
  const Json source = to_json(config.source_tokenizer);
  const Json target = to_json(config.target_tokenizer);
  json["tokenizer"] = source == target ? source : Json{{"source", source}, {"target", target}};
}

/// Reads FILE, or {file: FILE, tensor: NAME, frozen: BOOL, scale: X}.
EmbeddingsConfig read_embeddings(OptionReader& parent, std::string_view side) {
  EmbeddingsConfig config;
  if (!parent.has(side)) return config;
  const Json& tree = parent.subtree(side);
  parent.check(tree.is_string() || tree.is_object(), side, "must be the name of a file, or {file: FILE, frozen: true}");
  if (tree.is_string()) {
    config.file = tree.get<std::string>();
  } else {
    OptionReader reader = parent.child(side);
    config.file = reader.require_key<std::string>("file");
    config.tensor = reader.get("tensor", config.tensor);
    config.frozen = reader.get("frozen", config.frozen);
    config.scale = reader.get("scale", config.scale);
    constexpr core::NumberRange<double> kScale{.least = 0, .most = 1e6, .least_included = false};
    reader.check(kScale.contains(config.scale), "scale", kScale.demand());
    reader.finish();
  }
  parent.check(!config.file.empty(), side, "must name a file");
  return config;
}

void read_both_embeddings(OptionReader& data, DataConfig& config) {
  if (!data.has("embeddings")) return;
  OptionReader both = data.child("embeddings");
  config.source_embeddings = read_embeddings(both, "source");
  config.target_embeddings = read_embeddings(both, "target");
  both.finish();
}

Json to_json(const EmbeddingsConfig& config) {
  Json json{{"file", config.file}};
  if (!config.tensor.empty()) json["tensor"] = config.tensor;
  json["frozen"] = config.frozen;
  json["scale"] = config.scale;
  return json;
}

void write_both_embeddings(const DataConfig& config, Json& json) {
  if (!config.source_embeddings.file.empty()) json["embeddings"]["source"] = to_json(config.source_embeddings);
  if (!config.target_embeddings.file.empty()) json["embeddings"]["target"] = to_json(config.target_embeddings);
}

/// The three names form an object in the configuration.
OptionTable<DataConfig> special_token_table() {
  return OptionTable<DataConfig>()
      .text("begin", &DataConfig::begin, "TOKEN", "first input of the decoder, unless model.decoder_start is end")
      .text("end", &DataConfig::end, "TOKEN", "end of every sequence")
      .text("unknown", &DataConfig::unknown, "TOKEN", "token for text without a piece in the vocabulary");
}

void read_special_tokens(OptionReader& data, DataConfig& config) {
  OptionReader tokens = data.child("special_tokens");
  special_token_table().read(tokens, config);
  tokens.finish();
}

std::vector<Option> special_token_options() {
  std::vector<Option> options = special_token_table().options();
  for (Option& option : options) option.name.insert(0, "special_tokens.");
  return options;
}

}  // namespace

const OptionTable<DataConfig>& data_table() {
  using Config = DataConfig;
  static const auto table =
      OptionTable<Config>()
          .custom(
              {files_option("train",
                            "parallel texts, one pair per line; lists of files are read in order, and `weights: [X, "
                            "...]` sets how often an epoch contains the pairs of each file. Alternatively a list of "
                            "texts: {source: FILE, target: FILE}, {tsv: FILE, source_column: N, target_column: N} or "
                            "{jsonl: FILE, source_key: KEY, target_key: KEY}, each with optional weight, tag, "
                            "source_language and target_language. `alignment: FILE`, alignment_column or "
                            "alignment_key: word alignments of the pairs, for training.guided_alignment")},
              read_train, [](const Config& config, Json& json) { json["train"] = to_json(config.train); })
          .custom({files_option("validation", "parallel texts by which the best model is selected, in the same form")},
                  read_validation_texts,
                  [](const Config& config, Json& json) {
                    if (!config.validation.empty()) json["validation"] = to_json(config.validation);
                  })
          .custom(
              {{.name = "tokenizer",
                .placeholder = "FILE",
                .help = "tokenizer of both sides, or {source: FILE, target: FILE}; copied to the folder of the run. "
                        "FILE may also be {file: FILE, type: NAME, options: {...}}, where NAME is a registered kind"}},
              read_tokenizer_configs, write_tokenizer_configs)
          .custom({{.name = "embeddings",
                    .placeholder = "{source: FILE, target: FILE}",
                    .help = "initial values of embedding tables: vectors as text, or a .safetensors file. FILE may "
                            "also be {file: FILE, tensor: NAME, frozen: true, scale: X}"}},
                  read_both_embeddings, write_both_embeddings)
          .choice("alignment_units", &Config::alignment_units,
                  {{"words", AlignmentUnits::kWords}, {"pieces", AlignmentUnits::kPieces}}, "UNITS",
                  "unit of the links in alignments: words (split at whitespace), or pieces of the tokenizers")
          .number("maximum_length", &Config::maximum_length, kLength, "N",
                  "maximum length of each side in tokens, including the end; longer pairs are left out")
          .number("bpe_dropout", &Config::bpe_dropout, kProbability, "P",
                  "probability that a merge is skipped, drawn in every epoch; 0: off")
          .custom(
              {{.name = "subword_regularization",
                .placeholder = "{alpha: X, n_best: N}",
                .help = "unigram tokenizers: random segmentations in every epoch, drawn by probability to the power of "
                        "alpha from the n_best most probable ones (0: all)"}},
              [](OptionReader& data, Config& config) { config.subword_sampling = read_subword_sampling(data); },
              [](const Config& config, Json& json) {
                if (config.subword_sampling.on) json["subword_regularization"] = to_json(config.subword_sampling);
              })
          .number("temperature", &Config::temperature, {.least = 0, .most = 1000, .least_included = false}, "T",
                  "mix texts of n pairs with p ~ n^(1/T); 1: no change")
          .custom({{.name = "phases",
                    .placeholder = "[{until_epoch: N, weights: [X, ...]}, ...]",
                    .help = "consecutive mixes of the texts: their weights (0: left out) or a temperature; each one "
                            "except the last ends with until_epoch or until_update"}},
                  read_phases_of, write_phases)
          .custom(
              {{.name = "memory",
                .placeholder = "SIZE",
                .help = "memory limit of encoded pairs, such as 2GB; larger data is stored in blocks on disk, and "
                        "shuffled by blocks and within windows of several blocks; 0: all pairs are in memory",
                .fallback = Json(0)}},
              [](OptionReader& data, Config& config) { read_memory(data, config, "no limit"); }, write_memory<Config>)
          .text("cache", &Config::cache, "FOLDER",
                "folder for folders of blocks, which runs may share; other files in it are not changed; empty: blocks "
                "are in the folder of the run")
          .number("bucket_window", &Config::bucket_window, kAtLeastOne, "N",
                  "number of pairs that are sorted by length at a time; 1: no sorting")
          .text("source_language", &Config::source_language, "CODE",
                "language of the sources, for a model.from with several languages (`inspect` shows its table)")
          .text("target_language", &Config::target_language, "CODE", "language of the targets, for such a model.from")
          .custom(special_token_options(), read_special_tokens, [](const Config& config, Json& json) {
            json["special_tokens"] = Json::object();
            special_token_table().write(config, json["special_tokens"]);
          });
  return table;
}

}  // namespace dragoman::training
