#include "dragoman/training/config.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;
using core::Json;
using core::OptionReader;

const std::vector<std::pair<std::string_view, ScheduleKind>> kSchedules = {{"inverse-sqrt", ScheduleKind::kInverseSqrt},
                                                                           {"noam", ScheduleKind::kNoam},
                                                                           {"linear", ScheduleKind::kLinear},
                                                                           {"cosine", ScheduleKind::kCosine},
                                                                           {"constant", ScheduleKind::kConstant}};
const std::vector<std::pair<std::string_view, ValidationMetric>> kMetrics = {
    {"loss", ValidationMetric::kLoss}, {"bleu", ValidationMetric::kBleu}, {"chrf", ValidationMetric::kChrf}};
const std::vector<std::pair<std::string_view, AverageOf>> kAverageOf = {{"last", AverageOf::kLast},
                                                                        {"best", AverageOf::kBest}};
const std::vector<std::pair<std::string_view, bool>> kPrecisions = {{"f32", false}, {"f16", true}};
const std::vector<std::pair<std::string_view, bool>> kDecoderStarts = {{"begin", false}, {"end", true}};

template <class Value>
std::string name_in(const std::vector<std::pair<std::string_view, Value>>& choices, Value value) {
  for (const auto& [name, choice] : choices)
    if (choice == value) return std::string(name);
  return {};
}

template <class Number>
Number in_range(OptionReader& options, std::string_view key, Number fallback, Number least, Number most) {
  const Number value = options.get(key, fallback);
  options.check(value >= least && value <= most, key,
                fmt::format("is {}; it must lie in {} .. {}", value, least, most));
  return value;
}

constexpr std::int64_t kMany = std::int64_t{1} << 40;

/// One path or a list of them.
std::vector<std::string> read_paths(OptionReader& options, std::string_view key) {
  const Json& value = options.subtree(key);
  std::vector<std::string> paths;
  if (value.is_string()) paths.push_back(value.get<std::string>());
  if (value.is_array()) {
    for (const Json& item : value) {
      options.check(item.is_string(), key, "must hold the names of files");
      paths.push_back(item.get<std::string>());
    }
  }
  options.check(!paths.empty(), key, "must be the name of a file, or a list of names");
  return paths;
}

TextPair read_text_pair(OptionReader options) {
  TextPair pair{.source = read_paths(options, "source"), .target = read_paths(options, "target")};
  options.finish();
  options.check(pair.source.size() == pair.target.size(), "source",
                fmt::format("names {} files, but target names {}; they are read in pairs", pair.source.size(),
                            pair.target.size()));
  return pair;
}

void read_tokenizers(OptionReader& data, DataConfig& config) {
  if (data.subtree("tokenizer").is_string()) {
    config.source_tokenizer = config.target_tokenizer = data.subtree("tokenizer").get<std::string>();
    return;
  }
  data.check(
      data.subtree("tokenizer").is_object(), "tokenizer",
      "is missing: name the tokenizer.json that `dragoman learn-bpe` wrote, or one for source and one for target");
  OptionReader both = data.child("tokenizer");
  config.source_tokenizer = both.require_key<std::string>("source");
  config.target_tokenizer = both.require_key<std::string>("target");
  both.finish();
}

DataConfig read_data(OptionReader data) {
  DataConfig config;
  data.check(data.has("train"), "train", "is missing: give train: {source: FILE, target: FILE}");
  config.train = read_text_pair(data.child("train"));
  if (data.has("validation")) config.validation = read_text_pair(data.child("validation"));
  read_tokenizers(data, config);
  config.maximum_length = in_range(data, "maximum_length", config.maximum_length, 2, 65536);
  config.bpe_dropout = in_range(data, "bpe_dropout", config.bpe_dropout, 0.0, 1.0);
  config.bucket_window = in_range<std::int64_t>(data, "bucket_window", config.bucket_window, 1, kMany);
  OptionReader special = data.child("special_tokens");
  config.begin = special.get("begin", config.begin);
  config.end = special.get("end", config.end);
  config.unknown = special.get("unknown", config.unknown);
  special.finish();
  data.finish();
  return config;
}

/// The keys that every model has are read here; the others are left for the model type to check.
ModelConfig read_model(const Json& tree, const std::string& where) {
  Json own = tree.is_null() ? Json::object() : tree;
  core::require(own.is_object(), ErrorCode::kBadInput, "{}: model must hold keys and values", where);
  Json common = Json::object();
  for (const char* key : {"type", "maximum_source_length", "maximum_target_length", "decoder_start"}) {
    if (!own.contains(key)) continue;
    common[key] = own[key];
    own.erase(key);
  }
  ModelConfig config;
  OptionReader options(common, where + ": model");
  config.type = options.get("type", config.type);
  config.maximum_source_length = in_range(options, "maximum_source_length", config.maximum_source_length, 2, 65536);
  config.maximum_target_length = in_range(options, "maximum_target_length", config.maximum_target_length, 2, 65536);
  config.decoder_starts_with_end = options.choice("decoder_start", config.decoder_starts_with_end, kDecoderStarts);
  options.finish();
  config.options = std::move(own);
  return config;
}

OptimizerConfig read_optimizer(OptionReader options) {
  OptimizerConfig config;
  config.beta1 = in_range(options, "beta1", config.beta1, 0.0, 1.0);
  config.beta2 = in_range(options, "beta2", config.beta2, 0.0, 1.0);
  options.check(config.beta1 < 1, "beta1", "must be below 1");
  options.check(config.beta2 < 1, "beta2", "must be below 1");
  config.epsilon = in_range(options, "epsilon", config.epsilon, 0.0, 1.0);
  options.check(config.epsilon > 0, "epsilon", "must be above 0");
  config.weight_decay = in_range(options, "weight_decay", config.weight_decay, 0.0, 1.0);
  options.finish();
  return config;
}

ScheduleOptions read_schedule(OptionReader options) {
  ScheduleOptions config;
  config.kind = options.choice("type", config.kind, kSchedules);
  config.learning_rate = in_range(options, "learning_rate", config.learning_rate, 0.0, 1e30);
  options.check(config.learning_rate > 0, "learning_rate", "must be above 0");
  config.warmup = in_range<std::int64_t>(options, "warmup", config.warmup, 0, kMany);
  config.final_learning_rate = in_range(options, "final_learning_rate", config.final_learning_rate, 0.0, 1e30);
  options.finish();
  return config;
}

RecipeConfig read_recipe(OptionReader options) {
  RecipeConfig config;
  config.seed = options.get("seed", config.seed);
  config.updates = in_range<std::int64_t>(options, "updates", config.updates, 0, kMany);
  config.epochs = in_range<std::int64_t>(options, "epochs", config.epochs, 0, kMany);
  config.batch_tokens = in_range<std::int64_t>(options, "batch_tokens", config.batch_tokens, 2, std::int64_t{1} << 30);
  config.accumulate = in_range<std::int64_t>(options, "accumulate", config.accumulate, 1, 65536);
  config.label_smoothing = in_range(options, "label_smoothing", config.label_smoothing, 0.0, 0.99);
  config.clip_norm = in_range(options, "clip_norm", config.clip_norm, 0.0, 1e30);
  config.ema_decay = in_range(options, "ema_decay", config.ema_decay, 0.0, 0.9999999);
  config.report_every = in_range<std::int64_t>(options, "report_every", config.report_every, 1, kMany);
  config.optimizer = read_optimizer(options.child("optimizer"));
  config.schedule = read_schedule(options.child("schedule"));
  options.finish();
  return config;
}

void read_metrics(OptionReader& options, ValidationConfig& config) {
  if (!options.has("metrics")) return;
  const Json& metrics = options.subtree("metrics");
  options.check(metrics.is_array(), "metrics", "must be a list of bleu and chrf; [] reports the loss alone");
  config.bleu = config.chrf = false;
  for (const Json& metric : metrics) {
    options.check(metric == "bleu" || metric == "chrf" || metric == "loss", "metrics", "may hold loss, bleu and chrf");
    config.bleu = config.bleu || metric == "bleu";
    config.chrf = config.chrf || metric == "chrf";
  }
}

ValidationConfig read_validation(OptionReader options) {
  ValidationConfig config;
  config.every = in_range<std::int64_t>(options, "every", config.every, 0, kMany);
  read_metrics(options, config);
  const ValidationMetric usual = config.bleu   ? ValidationMetric::kBleu
                                 : config.chrf ? ValidationMetric::kChrf
                                               : ValidationMetric::kLoss;
  config.metric = options.choice("metric", usual, kMetrics);
  options.check(config.metric != ValidationMetric::kBleu || config.bleu, "metric",
                "is bleu, but metrics does not list it");
  options.check(config.metric != ValidationMetric::kChrf || config.chrf, "metric",
                "is chrf, but metrics does not list it");
  config.patience = in_range<std::int64_t>(options, "patience", config.patience, 0, kMany);
  config.beam_size = in_range(options, "beam_size", config.beam_size, 1, 1024);
  config.length_penalty = in_range(options, "length_penalty", config.length_penalty, 0.0, 10.0);
  config.batch_tokens = in_range<std::int64_t>(options, "batch_tokens", config.batch_tokens, 1, kMany);
  config.samples = in_range<std::int64_t>(options, "samples", config.samples, 0, 1000);
  options.finish();
  return config;
}

CheckpointConfig read_checkpoint(OptionReader options) {
  CheckpointConfig config;
  config.every = in_range<std::int64_t>(options, "every", config.every, 0, kMany);
  config.keep = in_range<std::int64_t>(options, "keep", config.keep, 1, 1000000);
  config.average = in_range<std::int64_t>(options, "average", config.average, 0, 1000);
  config.average_of = options.choice("average_of", config.average_of, kAverageOf);
  config.export_f16 = options.choice("export", config.export_f16, kPrecisions);
  options.finish();
  return config;
}

void check_together(const TrainingConfig& config, const std::string& where) {
  const RecipeConfig& recipe = config.training;
  const bool endless = recipe.updates == 0 && recipe.epochs == 0 && config.validation.patience == 0;
  core::require(!endless, ErrorCode::kBadInput,
                "{}: training would never end; set training.updates, training.epochs or validation.patience", where);
  core::require(config.validation.patience == 0 || (!config.data.validation.empty() && config.validation.every > 0),
                ErrorCode::kBadInput, "{}: validation.patience needs data.validation and validation.every", where);
  const bool needs_end = recipe.schedule.kind == ScheduleKind::kLinear || recipe.schedule.kind == ScheduleKind::kCosine;
  core::require(!needs_end || recipe.updates > recipe.schedule.warmup, ErrorCode::kBadInput,
                "{}: the schedule '{}' needs training.updates, and more than its warm-up of {}", where,
                name_of(recipe.schedule.kind), recipe.schedule.warmup);
  core::require(
      config.data.maximum_length <= std::min(config.model.maximum_source_length, config.model.maximum_target_length),
      ErrorCode::kBadInput, "{}: data.maximum_length is {}, but the model takes {} source and {} target tokens", where,
      config.data.maximum_length, config.model.maximum_source_length, config.model.maximum_target_length);
  core::require(config.data.maximum_length <= recipe.batch_tokens, ErrorCode::kBadInput,
                "{}: a pair of data.maximum_length {} does not fit into training.batch_tokens {}", where,
                config.data.maximum_length, recipe.batch_tokens);
  core::require(config.checkpoint.average == 0 || config.checkpoint.average_of == AverageOf::kLast ||
                    (!config.data.validation.empty() && config.validation.every > 0),
                ErrorCode::kBadInput, "{}: checkpoint.average_of best needs data.validation and validation.every",
                where);
}

Json paths_json(const std::vector<std::string>& paths) {
  return paths.size() == 1 ? Json(paths.front()) : Json(paths);
}

Json to_json(const TextPair& pair) {
  return {{"source", paths_json(pair.source)}, {"target", paths_json(pair.target)}};
}

Json to_json(const ModelConfig& config) {
  Json json = {{"type", config.type},
               {"maximum_source_length", config.maximum_source_length},
               {"maximum_target_length", config.maximum_target_length},
               {"decoder_start", name_in(kDecoderStarts, config.decoder_starts_with_end)}};
  for (const auto& [key, value] : config.options.items()) json[key] = value;
  return json;
}

Json to_json(const DataConfig& config) {
  Json json = {{"train", to_json(config.train)}};
  if (!config.validation.empty()) json["validation"] = to_json(config.validation);
  if (config.source_tokenizer == config.target_tokenizer)
    json["tokenizer"] = config.source_tokenizer;
  else
    json["tokenizer"] = {{"source", config.source_tokenizer}, {"target", config.target_tokenizer}};
  json["maximum_length"] = config.maximum_length;
  json["bpe_dropout"] = config.bpe_dropout;
  json["bucket_window"] = config.bucket_window;
  json["special_tokens"] = {{"begin", config.begin}, {"end", config.end}, {"unknown", config.unknown}};
  return json;
}

Json to_json(const RecipeConfig& config) {
  const OptimizerConfig& adam = config.optimizer;
  const ScheduleOptions& schedule = config.schedule;
  return {
      {"seed", config.seed},
      {"updates", config.updates},
      {"epochs", config.epochs},
      {"batch_tokens", config.batch_tokens},
      {"accumulate", config.accumulate},
      {"label_smoothing", config.label_smoothing},
      {"clip_norm", config.clip_norm},
      {"ema_decay", config.ema_decay},
      {"report_every", config.report_every},
      {"optimizer",
       {{"beta1", adam.beta1}, {"beta2", adam.beta2}, {"epsilon", adam.epsilon}, {"weight_decay", adam.weight_decay}}},
      {"schedule",
       {{"type", name_of(schedule.kind)},
        {"learning_rate", schedule.learning_rate},
        {"warmup", schedule.warmup},
        {"final_learning_rate", schedule.final_learning_rate}}}};
}

Json to_json(const ValidationConfig& config) {
  Json metrics = Json::array();
  if (config.bleu) metrics.push_back("bleu");
  if (config.chrf) metrics.push_back("chrf");
  return {{"every", config.every},
          {"metrics", metrics},
          {"metric", name_in(kMetrics, config.metric)},
          {"patience", config.patience},
          {"beam_size", config.beam_size},
          {"length_penalty", config.length_penalty},
          {"batch_tokens", config.batch_tokens},
          {"samples", config.samples}};
}

Json to_json(const CheckpointConfig& config) {
  return {{"every", config.every},
          {"keep", config.keep},
          {"average", config.average},
          {"average_of", name_in(kAverageOf, config.average_of)},
          {"export", name_in(kPrecisions, config.export_f16)}};
}

void flatten(const Json& tree, const std::string& path, Json& flat) {
  for (const auto& [key, value] : tree.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_object())
      flatten(value, name, flat);
    else
      flat[name] = value;
  }
}

}  // namespace

TrainingConfig read_training_config(const Json& tree, const std::string& where) {
  core::require(tree.is_object(), ErrorCode::kBadInput, "{}: a training configuration holds keys and values", where);
  OptionReader options(tree, where);
  // What is mistyped comes first: it is often why something else is missing.
  for (const char* key : {"output", "threads", "device", "model", "data", "training", "validation", "checkpoint"})
    options.has(key);
  options.finish();
  TrainingConfig config;
  config.output = options.require_key<std::string>("output");
  options.check(!config.output.empty(), "output", "must name a folder");
  config.threads = in_range(options, "threads", config.threads, 0, 4096);
  config.device = options.get("device", config.device);
  config.model = read_model(options.subtree("model"), where);
  config.data = read_data(options.child("data"));
  config.training = read_recipe(options.child("training"));
  config.validation = read_validation(options.child("validation"));
  config.checkpoint = read_checkpoint(options.child("checkpoint"));
  check_together(config, where);
  return config;
}

Json to_json(const TrainingConfig& config) {
  return {{"output", config.output},
          {"threads", config.threads},
          {"device", config.device},
          {"model", to_json(config.model)},
          {"data", to_json(config.data)},
          {"training", to_json(config.training)},
          {"validation", to_json(config.validation)},
          {"checkpoint", to_json(config.checkpoint)}};
}

Json keys_that_affect_results(const TrainingConfig& config) {
  Json tree = to_json(config);
  for (const char* key : {"output", "threads", "checkpoint"}) tree.erase(key);
  for (const char* key : {"train", "validation", "tokenizer"}) tree["data"].erase(key);
  const bool ends_matter =
      config.training.schedule.kind == ScheduleKind::kLinear || config.training.schedule.kind == ScheduleKind::kCosine;
  if (!ends_matter) tree["training"].erase("updates");
  tree["training"].erase("epochs");
  tree["training"].erase("report_every");
  tree["validation"] = {{"metric", name_in(kMetrics, config.validation.metric)}};
  Json flat = Json::object();
  flatten(tree, "", flat);
  return flat;
}

}  // namespace dragoman::training
