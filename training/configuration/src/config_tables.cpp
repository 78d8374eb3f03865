#include "configuration/config_tables.h"

#include "configuration/text_config.h"
#include "dragoman/training/option_table.h"
#include "method_tables.h"
#include "metric_config.h"

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/sizes.h>
#include <dragoman/decoding/model_defaults.h>

namespace dragoman::training {
namespace {

using core::Json;
using core::Option;
using core::OptionReader;
using core::OptionTable;

constexpr core::NumberRange<std::int64_t> kCount{.least = 0, .most = kMany};
constexpr core::NumberRange<std::int64_t> kAtLeastOne{.least = 1, .most = kMany};
constexpr core::NumberRange<std::int32_t> kLength{.least = 2, .most = 65536};
constexpr core::NumberRange<double> kProbability{.least = 0, .most = 1};
constexpr core::NumberRange<double> kDecay{.least = 0, .most = 1, .most_included = false};
constexpr core::NumberRange<double> kNotNegative{.least = 0, .most = 1e30};

// --- data ---

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

/// What stands behind the texts in the configuration of data, since it is about them.
void read_phases_of(OptionReader& data, DataConfig& config) {
  config.phases = read_phases(data, parts_of(config.train).size());
}

void write_phases(const DataConfig& config, Json& json) {
  if (!config.phases.empty()) json["phases"] = to_json(config.phases);
}

/// SIZE as text, or 0, which is `none`.
std::uint64_t read_size(OptionReader& options, const char* key, std::string_view none) {
  const Json& value = options.subtree(key);
  if (value.is_null() || value == 0) return 0;
  const std::uint64_t bytes = value.is_string() ? core::spelled_size(value.get<std::string>()).value_or(0) : 0;
  options.check(bytes > 0, key, fmt::format("{}, or 0 for {}", core::demand_of_size(), none));
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  options.check(bytes >= kLeast, key, "must be at least 1MiB");
  return bytes;
}

Json as_size(std::uint64_t bytes) {
  return bytes == 0 ? Json(0) : Json(fmt::format("{}B", bytes));
}

template <class Config>
void read_memory(OptionReader& options, Config& config, std::string_view none) {
  config.memory = read_size(options, "memory", none);
}

template <class Config>
void write_memory(const Config& config, Json& json) {
  json["memory"] = as_size(config.memory);
}

void read_device_memory(OptionReader& recipe, TrainConfig& config) {
  config.device_memory = read_size(recipe, "device_memory", "all that there is");
}

void write_device_memory(const TrainConfig& config, Json& json) {
  json["device_memory"] = as_size(config.device_memory);
}

/// A number, or "auto", which `memory` is for.
void read_batch_tokens(OptionReader& recipe, TrainConfig& config) {
  constexpr std::int64_t kMax = std::int64_t{1} << 30;
  if (const Json& value = recipe.subtree("batch_tokens"); !value.is_null()) {
    const bool whole = value.is_number_integer() && value >= 2 && value <= kMax;
    recipe.check(whole || value == "auto", "batch_tokens",
                 fmt::format("must be a whole number from 2 to {}, or auto", kMax));
    config.batch_tokens = whole ? value.get<std::int64_t>() : 0;
  }
  read_memory(recipe, config, "none");
  recipe.check(config.batch_tokens > 0 || config.memory > 0, "batch_tokens",
               "is auto: say with training.memory what training may take, as 4GB");
  recipe.check(config.batch_tokens == 0 || config.memory == 0, "memory",
               "decides how large batches are, with batch_tokens: auto only; leave one of them out");
}

void write_batch_tokens(const TrainConfig& config, Json& json) {
  json["batch_tokens"] = config.batch_tokens == 0 ? Json("auto") : Json(config.batch_tokens);
  write_memory(config, json);
}

/// FILE, or {file: FILE, type: NAME, options: {...}}.
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
  if (tree.is_null()) return;  // those of model.from
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

/// FILE, or {file: FILE, tensor: NAME, frozen: BOOL, scale: X}.
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

/// The three names stand in an object of their own.
OptionTable<DataConfig> special_token_table() {
  return OptionTable<DataConfig>()
      .text("begin", &DataConfig::begin, "TOKEN", "the decoder's first input, with model.decoder_start: begin")
      .text("end", &DataConfig::end, "TOKEN", "closes every sequence")
      .text("unknown", &DataConfig::unknown, "TOKEN", "what a vocabulary has no piece for");
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

// --- training ---

/// All but int8, in which there are no gradients.
std::vector<std::pair<std::string_view, tensor::ComputeChoice>> training_choices() {
  std::vector<std::pair<std::string_view, tensor::ComputeChoice>> choices;
  for (const auto& [name, choice] : tensor::kComputeChoices)
    if (choice != tensor::ComputeChoice::kI8) choices.emplace_back(name, choice);
  return choices;
}

void read_trained(OptionReader& options, TrainConfig& config) {
  config.train_only = read_patterns(options, "train_only");
  config.freeze = read_patterns(options, "freeze");
}

void write_trained(const TrainConfig& config, Json& json) {
  json["train_only"] = config.train_only;
  json["freeze"] = config.freeze;
}

OptionTable<LoraConfig> lora_table() {
  using Config = LoraConfig;
  return OptionTable<Config>()
      .number("rank", &Config::rank, {.least = 0, .most = 65536}, "N",
              "low-rank adapters of this rank are trained in place of the weights (LoRA); 0: the weights")
      .number("alpha", &Config::alpha, {.least = 0, .most = 1e6, .least_included = false}, "X",
              "what adapters say is multiplied by alpha / rank")
      .custom(
          {patterns_option("targets",
                           "weights of linear layers that get one, by name, such as *_attention.*; none: "
                           "all but the projection to the vocabulary")},
          [](OptionReader& options, Config& config) { config.targets = read_patterns(options, "targets"); },
          [](const Config& config, Json& json) { json["targets"] = config.targets; });
}

// --- validation ---

/// A number of updates, `epoch`, or {epochs: N}.
void read_every(OptionReader& options, ValidationConfig& config) {
  const Json& value = options.subtree("every");
  if (value.is_null()) return;
  if (value.is_object()) {
    OptionReader reader = options.child("every");
    config.every_epochs = reader.require_key<std::int64_t>("epochs");
    reader.check(kAtLeastOne.contains(config.every_epochs), "epochs", kAtLeastOne.demand());
    reader.finish();
  } else if (value == "epoch") {
    config.every_epochs = 1;
  } else {
    options.check(value.is_number_integer(), "every",
                  "must be a number of updates, or epoch, or {epochs: N} for the end of every N-th epoch");
    config.every = options.get("every", config.every);
    options.check(kCount.contains(config.every), "every", kCount.demand());
    config.every_epochs = 0;
    return;
  }
  config.every = 0;
}

void write_every(const ValidationConfig& config, Json& json) {
  if (config.every_epochs == 0)
    json["every"] = config.every;
  else if (config.every_epochs == 1)
    json["every"] = "epoch";
  else
    json["every"] = {{"epochs", config.every_epochs}};
}

OptionTable<SampleConfig> sample_table() {
  using Config = SampleConfig;
  constexpr core::NumberRange<std::int64_t> kSamples{.least = 0, .most = 1000};
  return OptionTable<Config>()
      .number("first", &Config::first, kSamples, "N", "the same at every validation")
      .number("random", &Config::random, kSamples, "N", "drawn anew at every validation");
}

/// A number, as ever, or {first: N, random: N}, with which they are recorded, too.
void read_samples(OptionReader& options, ValidationConfig& config) {
  const Json& value = options.subtree("samples");
  if (value.is_null()) return;
  if (value.is_object()) {
    OptionReader reader = options.child("samples");
    sample_table().read(reader, config.samples);
    reader.finish();
    config.samples.in_metrics = true;
    return;
  }
  options.check(value.is_number_integer(), "samples", "must be a number, or {first: N, random: N}");
  config.samples = {.first = options.get("samples", config.samples.first)};
  const std::string problem = sample_table().problem(config.samples);
  options.check(problem.empty(), "samples", problem);
}

void write_samples(const ValidationConfig& config, Json& json) {
  const SampleConfig& samples = config.samples;
  if (!samples.in_metrics && samples.random == 0) {
    json["samples"] = samples.first;
    return;
  }
  json["samples"] = Json::object();
  sample_table().write(samples, json["samples"]);
}

/// {alpha: [X, ...], beam_size: [N, ...]}
void read_tune(OptionReader& options, ValidationConfig& config) {
  if (!options.has("tune")) return;
  OptionReader reader = options.child("tune");
  const auto numbers = [&reader]<class Number>(const char* key, core::NumberRange<Number> range) {
    std::vector<Number> result;
    if (!reader.has(key)) return result;
    const Json& list = reader.subtree(key);
    reader.check(list.is_array() && !list.empty() && list.size() <= 1000, key, "must be a list of values to try");
    for (const Json& item : list) {
      reader.check(std::is_integral_v<Number> ? item.is_number_integer() : item.is_number(), key, "must hold numbers");
      const auto value = item.get<double>();
      const core::NumberRange<double> wide{.least = static_cast<double>(range.least),
                                           .most = static_cast<double>(range.most)};
      reader.check(wide.contains(value), key, fmt::format("holds {}; it {}", core::one_line(item), range.demand()));
      result.push_back(static_cast<Number>(value));
    }
    return result;
  };
  config.tune.alpha = numbers("alpha", core::NumberRange<double>{.least = -100, .most = 100});
  config.tune.beam_size =
      numbers("beam_size", core::NumberRange<std::int32_t>{.least = 1, .most = decoding::kMaxHypothesesOfFolder});
  reader.finish();
  options.check(!config.tune.empty(), "tune", "must say what is tried: {alpha: [X, ...], beam_size: [N, ...]}");
}

void write_tune(const ValidationConfig& config, Json& json) {
  if (!config.tune.alpha.empty()) json["tune"]["alpha"] = config.tune.alpha;
  if (!config.tune.beam_size.empty()) json["tune"]["beam_size"] = config.tune.beam_size;
}

// --- all ---

OptionTable<TrainingConfig> whole_table() {
  using Config = TrainingConfig;
  return OptionTable<Config>()
      .text("output", &Config::output, "FOLDER", "where the run writes; nobody else trains there meanwhile")
      .number("threads", &Config::threads, {.most = core::kMaxThreads}, "N",
              "0: as many as the process may use; results do not depend on it")
      .text("device", &Config::device, "NAME",
            "cpu, reference, a plugin's, or auto: the best that is here; `doctor` lists them")
      .nested("model", &Config::model, model_table())
      .nested("data", &Config::data, data_table())
      .nested("training", &Config::training, recipe_table())
      .nested("validation", &Config::validation, validation_table())
      .nested("checkpoint", &Config::checkpoint, checkpoint_table())
      .nested("logging", &Config::logging, logging_table());
}

}  // namespace

const OptionTable<ModelConfig>& model_table() {
  using Config = ModelConfig;
  static const auto table =
      OptionTable<Config>()
          .custom(
              {{.name = "from",
                .placeholder = "FOLDER",
                .help = "a model to go on from: its configuration, weights and tokenizers; other keys change it"}},
              [](OptionReader& options, Config& config) { config.from = options.get("from", config.from); },
              [](const Config& config, Json& json) {
                if (!config.from.empty()) json["from"] = config.from;
              })
          .custom(
              {{.name = "from_matching",
                .placeholder = "true|false",
                .help = "of `from`, take the parameters that have the same name and shape here; the others begin "
                        "anew"}},
              [](OptionReader& options, Config& config) {
                config.from_matching = options.get("from_matching", config.from_matching);
              },
              [](const Config& config, Json& json) {
                if (config.from_matching) json["from_matching"] = true;
              })
          .text("type", &Config::type, "NAME", "transformer, t5, or a plugin's; each has keys of its own")
          .number("maximum_source_length", &Config::maximum_source_length, kLength, "N",
                  "tokens that translation takes, the end included")
          .number("maximum_target_length", &Config::maximum_target_length, kLength, "N", "the same of the target")
          .choice("decoder_start", &Config::decoder_starts_with_end, {{"begin", false}, {"end", true}}, "TOKEN",
                  "the decoder's first input; end, as in fairseq and Marian");
  return table;
}

const OptionTable<DataConfig>& data_table() {
  using Config = DataConfig;
  static const auto table =
      OptionTable<Config>()
          .custom({files_option(
                      "train",
                      "parallel texts, a pair a line; lists are read one after the other, and `weights: [X, ...]` "
                      "says how often an epoch has the pairs of each. In place of it a list of texts: {source: FILE, "
                      "target: FILE}, {tsv: FILE, source_column: N, target_column: N} or {jsonl: FILE, source_key: "
                      "KEY, target_key: KEY}, each with weight, tag, source_language and target_language, if you "
                      "like. `alignment: FILE`, alignment_column or alignment_key: word alignments of the pairs, for "
                      "training.guided_alignment")},
                  read_train, [](const Config& config, Json& json) { json["train"] = to_json(config.train); })
          .custom({files_option("validation", "the same, to choose the best model by")}, read_validation_texts,
                  [](const Config& config, Json& json) {
                    if (!config.validation.empty()) json["validation"] = to_json(config.validation);
                  })
          .custom(
              {{.name = "tokenizer",
                .placeholder = "FILE",
                .help =
                    "of both sides, or {source: FILE, target: FILE}; copied into the run. In place of FILE also {file: "
                    "FILE, type: NAME, options: {...}}, where NAME is a registered kind"}},
              read_tokenizer_configs, write_tokenizer_configs)
          .custom(
              {{.name = "embeddings",
                .placeholder = "{source: FILE, target: FILE}",
                .help = "what tables of embeddings begin with: vectors in text, or a .safetensors file. In place of "
                        "FILE also {file: FILE, tensor: NAME, frozen: true, scale: X}"}},
              read_both_embeddings, write_both_embeddings)
          .choice("alignment_units", &Config::alignment_units,
                  {{"words", AlignmentUnits::kWords}, {"pieces", AlignmentUnits::kPieces}}, "UNITS",
                  "what the links of alignments number: words, which are split at blanks, or pieces of the tokenizers")
          .number("maximum_length", &Config::maximum_length, kLength, "N",
                  "pairs with a longer side, in tokens with the end, are left out")
          .number("bpe_dropout", &Config::bpe_dropout, kProbability, "P",
                  "merges left out at random, anew in every epoch; 0: off")
          .custom(
              {{.name = "subword_regularization",
                .placeholder = "{alpha: X, n_best: N}",
                .help = "unigram tokenizers: other segmentations in every epoch, drawn by probability to the power "
                        "of alpha among the n_best most probable ones (0: all)"}},
              [](OptionReader& data, Config& config) { config.subword_sampling = read_subword_sampling(data); },
              [](const Config& config, Json& json) {
                if (config.subword_sampling.on) json["subword_regularization"] = to_json(config.subword_sampling);
              })
          .number("temperature", &Config::temperature, {.least = 0, .most = 1000, .least_included = false}, "T",
                  "texts of n pairs are mixed with p ~ n^(1/T); 1: as they are")
          .custom({{.name = "phases",
                    .placeholder = "[{until_epoch: N, weights: [X, ...]}, ...]",
                    .help = "mixes one after the other: weights of the texts (0: none of it) or a temperature; each "
                            "but the last ends by until_epoch or until_update"}},
                  read_phases_of, write_phases)
          .custom(
              {{.name = "memory",
                .placeholder = "SIZE",
                .help = "encoded pairs that need more, as 2GB, stand in blocks on disk, and are shuffled by blocks "
                        "and within windows of some blocks; 0: all are kept in memory",
                .fallback = Json(0)}},
              [](OptionReader& data, Config& config) { read_memory(data, config, "no limit"); }, write_memory<Config>)
          .text("cache", &Config::cache, "FOLDER",
                "holds folders of blocks, for other runs, too; what else is in it stays as it is; empty: blocks in the "
                "run's own")
          .number("bucket_window", &Config::bucket_window, kAtLeastOne, "N",
                  "pairs sorted by length at a time; 1: none")
          .text("source_language", &Config::source_language, "CODE",
                "of the texts, with a model.from of several languages (`inspect` shows its table)")
          .text("target_language", &Config::target_language, "CODE", "the same of the translations")
          .custom(special_token_options(), read_special_tokens, [](const Config& config, Json& json) {
            json["special_tokens"] = Json::object();
            special_token_table().write(config, json["special_tokens"]);
          });
  return table;
}

const OptionTable<TrainConfig>& recipe_table() {
  using Config = TrainConfig;
  static const auto table =
      OptionTable<Config>()
          .number("seed", &Config::seed, {}, "N", "all that is random follows from it")
          .number("updates", &Config::updates, kCount, "N", "where training ends; 0: no limit")
          .number("epochs", &Config::epochs, kCount, "N", "the same, in passes over the data; 0: no limit")
          .custom({{.name = "batch_tokens",
                    .placeholder = "N",
                    .help = "neither side of a batch has more tokens, before row_bucket; auto: as many as memory has "
                            "room for",
                    .fallback = Json(Config().batch_tokens)},
                   {.name = "memory",
                    .placeholder = "SIZE",
                    .help = "with batch_tokens: auto, what training may take in all, as 4GB",
                    .fallback = Json(0)}},
                  read_batch_tokens, write_batch_tokens)
          .number("row_bucket", &Config::row_bucket, {.least = 0, .most = 65536}, "N",
                  "tokens and pairs of a batch are rounded up to a multiple, by pairs that do not count; 0: as the "
                  "device likes")
          .flag("batch_invariant", &Config::batch_invariant,
                "on a GPU: products with one order of sums whatever their shapes, at a cost; the CPU's have it")
          .custom({{.name = "device_memory",
                    .placeholder = "SIZE",
                    .help = "on a GPU: the most that is taken of its memory, as 40GB; 0: what there is",
                    .fallback = Json(0)}},
                  read_device_memory, write_device_memory)
          .number("accumulate", &Config::accumulate, {.least = 1, .most = 65536}, "N",
                  "batches for one update, shared out among the processes that train together")
          .choice(
              "compute", &Config::compute, training_choices(), "TYPE",
              "what weights are multiplied in; auto: bf16 where that is faster; fp16: on a GPU. Parameters stay fp32")
          .nested("loss_scale", &Config::loss_scale, loss_scale_table())
          .flag(
              "recompute", &Config::recompute,
              "keep of each layer what goes in and out, and compute the rest again in the backward pass: less memory, "
              "about a quarter more time, the same results")
          .number("label_smoothing", &Config::label_smoothing, {.least = 0, .most = 0.99}, "P",
                  "share of the target that is spread over the vocabulary")
          .choice("label_smoothing_kind", &Config::label_smoothing_kind, smoothing_kinds(), "NAME",
                  "over all pieces, or over the others than the target")
          .number("r_drop", &Config::r_drop, {.least = 0, .most = 1000}, "X",
                  "R-Drop: weight of the divergence between two passes with other dropout; 0: off")
          .nested("guided_alignment", &Config::guided_alignment, guided_alignment_table())
          .nested("word_dropout", &Config::word_dropout, word_dropout_table())
          .number("clip_norm", &Config::clip_norm, kNotNegative, "X", "largest norm of a gradient; 0: any")
          .number("clip_value", &Config::clip_value, kNotNegative, "X",
                  "what each number of a gradient is cut to, before the norm is taken; 0: nothing is cut")
          .choice("on_non_finite", &Config::on_non_finite, non_finite_policies(), "POLICY",
                  "what follows a loss or gradient that is not finite: the end, an update that is left out, or the "
                  "parameters of the last checkpoint")
          .number("non_finite_limit", &Config::non_finite_limit, kAtLeastOne, "N",
                  "how often in a run, with skip and restore")
          .number("ema_decay", &Config::ema_decay, {.least = 0, .most = 0.9999999}, "X",
                  "moving average of the parameters, which validation and export then use; 0: off")
          .number("report_every", &Config::report_every, kAtLeastOne, "N", "updates to a line of metrics.jsonl")
          .custom({patterns_option("train_only", "parameters that are trained, by name, such as decoder.*; none: all"),
                   patterns_option("freeze",
                                   "parameters that are not; the table of tensors that `inspect` shows has the names")},
                  read_trained, write_trained)
          .nested("lora", &Config::lora, lora_table())
          .nested("optimizer", &Config::optimizer, optimizer_table())
          .nested("schedule", &Config::schedule, schedule_table());
  return table;
}

const OptionTable<ValidationConfig>& validation_table() {
  using Config = ValidationConfig;
  static const auto table =
      OptionTable<Config>()
          .custom({{.name = "every",
                    .placeholder = "N",
                    .help = "updates between validations; 0: one at the end; `epoch`: at the end of each epoch; "
                            "`{epochs: N}`: of every N-th",
                    .fallback = Json(Config().every)}},
                  read_every, write_every)
          .custom(metric_options(), read_metrics, write_metrics)
          .number("patience", &Config::patience, kCount, "N",
                  "validations without a new best until training ends; 0: any number")
          .number("minimum_improvement", &Config::minimum_improvement, kNotNegative, "X",
                  "by how much a value must be better than the last that counted, to count for patience")
          .choice("stop_on", &Config::stop_on,
                  {{"metric", StopOn::kMetric}, {"any", StopOn::kAny}, {"all", StopOn::kAll}}, "WHICH",
                  "whose patience ends training: that of `metric`, of any that is measured, or of all")
          .number("beam_size", &Config::beam_size, {.least = 1, .most = 1024}, "N", "of the search")
          .number("length_penalty", &Config::length_penalty, {.least = 0, .most = 10}, "X",
                  "alpha of fairseq's length penalty")
          .number("batch_tokens", &Config::batch_tokens, kAtLeastOne, "N", "source tokens decoded at a time")
          .custom({{.name = "samples",
                    .placeholder = "N",
                    .help = "sentences shown with prediction and reference, the first ones; `{first: N, random: N}`: "
                            "also random ones, drawn anew each time, and all of them in metrics.jsonl",
                    .fallback = Json(Config().samples.first)}},
                  read_samples, write_samples)
          .number(
              "threads", &Config::threads, {.most = core::kMaxThreads}, "N",
              "0: training waits for validations; else it goes on while they run on N threads of their own, and what "
              "they find counts from the next one on")
          .choice("compute", &Config::compute, {tensor::kComputeChoices.begin(), tensor::kComputeChoices.end()}, "TYPE",
                  std::string(tensor::kComputeHelp))
          .custom({{.name = "tune",
                    .placeholder = "{alpha: [X, ...], beam_size: [N, ...]}",
                    .help = "settings of the beam search that are tried when training is done; the best stand in the "
                            "model's folder (config.json, decoding)"}},
                  read_tune, write_tune);
  return table;
}

const OptionTable<CheckpointConfig>& checkpoint_table() {
  using Config = CheckpointConfig;
  static const auto table =
      OptionTable<Config>()
          .number("every", &Config::every, kCount, "N", "updates between checkpoints; 0: one at the end")
          .number("keep", &Config::keep, {.least = 1, .most = 1000000}, "N", "checkpoints that stay, the newest")
          .number("average", &Config::average, {.least = 0, .most = 1000}, "N",
                  "checkpoints whose mean becomes the model `average`; 0: none")
          .choice("average_of", &Config::average_of, {{"last", AverageOf::kLast}, {"best", AverageOf::kBest}}, "WHICH",
                  "which of them")
          .choice("export", &Config::export_f16, {{"f32", false}, {"f16", true}}, "TYPE", "of models' weights");
  return table;
}

const OptionTable<LoggingConfig>& logging_table() {
  using Config = LoggingConfig;
  static const auto table = OptionTable<Config>().flag("tensorboard", &Config::tensorboard,
                                                       "event files for TensorBoard in the run's folder `tensorboard`");
  return table;
}

const std::vector<Option>& config_options() {
  static const OptionTable<TrainingConfig> table = whole_table();
  return table.options();
}

}  // namespace dragoman::training
