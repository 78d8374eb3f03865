#include "dragoman/training/config.h"

#include "configuration/config_tables.h"
#include "configuration/text_config.h"
#include "dragoman/training/option_table.h"
#include "method_tables.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/options.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/unknown_key.h>
#include <dragoman/transformer/option_table.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;
using core::Json;
using core::OptionReader;

template <class Part>
Part read_part(OptionReader options, const core::OptionTable<Part>& table) {
  Part part;
  table.read(options, part);
  options.finish();
  return part;
}

template <class Part>
Json write_part(const Part& part, const core::OptionTable<Part>& table) {
  Json json = Json::object();
  table.write(part, json);
  return json;
}

/// Reads the keys that all models share. The model type checks the others.
ModelConfig read_model(const Json& tree, const std::string& where) {
  Json own = tree.is_null() ? Json::object() : tree;
  if (tree.is_string()) own = {{"type", tree}};
  core::require(own.is_object(), ErrorCode::kBadInput, "{}: model must be a name, or keys and values: {{type: NAME}}",
                where);
  if (own.contains("from")) {
    core::require(own["from"].is_string() && !own["from"].get_ref<const std::string&>().empty(), ErrorCode::kBadInput,
                  "{}: model.from must name a model folder", where);
    ModelConfig config{.from = own["from"].get<std::string>(), .complete = false};
    own.erase("from");
    config.options = std::move(own);
    return config;
  }
  Json common = Json::object();
  for (const core::Option& option : model_table().options()) {
    if (!own.contains(option.name)) continue;
    common[option.name] = own[option.name];
    own.erase(option.name);
  }
  ModelConfig config = read_part(OptionReader(common, where + ": model"), model_table());
  config.options = std::move(own);
  return config;
}

Json to_json(const ModelConfig& config) {
  Json json = config.complete ? write_part(config, model_table()) : Json{{"from", config.from}};
  for (const auto& [key, value] : config.options.items()) json[key] = value;
  return json;
}

void check_together(const TrainingConfig& config, const std::string& where) {
  const TrainConfig& recipe = config.training;
  const bool endless = recipe.updates == 0 && recipe.epochs == 0 && config.validation.patience == 0;
  core::require(!endless, ErrorCode::kBadInput,
                "{}: training would never end; set training.updates, training.epochs or validation.patience", where);
  core::require(config.validation.patience == 0 || (!config.data.validation.empty() && config.validation.repeated()),
                ErrorCode::kBadInput, "{}: validation.patience needs data.validation and validation.every", where);
  core::require(config.validation.minimum_improvement == 0 || config.validation.patience > 0, ErrorCode::kBadInput,
                "{}: validation.minimum_improvement has no effect without validation.patience", where);
  core::require(config.validation.stop_on == StopOn::kMetric || config.validation.patience > 0, ErrorCode::kBadInput,
                "{}: validation.stop_on has no effect without validation.patience", where);
  core::require(!config.validation.concurrent() || (!config.data.validation.empty() && config.validation.repeated()),
                ErrorCode::kBadInput, "{}: validation.threads needs data.validation and validation.every", where);
  core::require(
      !config.validation.concurrent() || recipe.schedule.kind != ScheduleKind::kPlateau, ErrorCode::kBadInput,
      "{}: with the schedule 'plateau' learning rates follow from validations, so training waits for them; leave "
      "out validation.threads",
      where);
  core::require(config.validation.tune.empty() || !config.data.validation.empty(), ErrorCode::kBadInput,
                "{}: validation.tune needs data.validation", where);
  check_texts(config.data, where);
  core::require(
      !config.model.from.empty() || (config.data.source_language.empty() && config.data.target_language.empty()),
      ErrorCode::kBadInput,
      "{}: data.source_language and data.target_language are for models of several languages: name one as model.from",
      where);
  core::require(!config.model.from_matching || !config.model.from.empty(), ErrorCode::kBadInput,
                "{}: model.from_matching says what is taken of model.from, which names no folder", where);
  core::require(!config.model.from_matching || !recipe.lora.on(), ErrorCode::kBadInput,
                "{}: training.lora adapts a whole model; leave out model.from_matching", where);
  core::require(!recipe.lora.on() || !config.model.from.empty(), ErrorCode::kBadInput,
                "{}: training.lora adapts a model that there is: name its folder as model.from", where);
  core::require(
      !recipe.lora.on() || (recipe.train_only.empty() && recipe.freeze.empty()), ErrorCode::kBadInput,
      "{}: with training.lora adapters alone are trained; say which weights get one by training.lora.targets, "
      "in place of training.train_only and training.freeze",
      where);
  core::require(!needs_end(recipe.schedule.kind) || recipe.updates > recipe.schedule.warmup, ErrorCode::kBadInput,
                "{}: the schedule '{}' needs training.updates, and more than its warm-up of {}", where,
                name_of(recipe.schedule.kind), recipe.schedule.warmup);
  check_methods(config, where);
  core::require(!config.model.complete || !config.data.source_tokenizer.file.empty(), ErrorCode::kBadInput,
                "{}: data.tokenizer is missing: name the tokenizer.json that `dragoman learn-bpe` wrote, or one for "
                "source and one for target",
                where);
  const std::int32_t longest = std::min(config.model.maximum_source_length, config.model.maximum_target_length);
  core::require_option(!config.model.complete || config.data.maximum_length <= longest, "data.maximum_length",
                       ErrorCode::kBadInput,
                       "{}: data.maximum_length is {}, but the model takes {} source and {} target tokens; set "
                       "data.maximum_length to {} or less",
                       where, config.data.maximum_length, config.model.maximum_source_length,
                       config.model.maximum_target_length, longest);
  const bool sized = recipe.batch_tokens > 0;  // not determined by training.memory
  core::require(!sized || config.data.maximum_length <= recipe.batch_tokens, ErrorCode::kBadInput,
                "{}: a pair of data.maximum_length {} does not fit into training.batch_tokens {}", where,
                config.data.maximum_length, recipe.batch_tokens);
  core::require(!sized || recipe.row_bucket <= recipe.batch_tokens, ErrorCode::kBadInput,
                "{}: training.row_bucket {} is more than training.batch_tokens {}, so most of a batch would not count",
                where, recipe.row_bucket, recipe.batch_tokens);
  core::require(config.checkpoint.average == 0 || config.checkpoint.average_of == AverageOf::kLast ||
                    (!config.data.validation.empty() && config.validation.repeated()),
                ErrorCode::kBadInput, "{}: checkpoint.average_of best needs data.validation and validation.every",
                where);
}

void flatten(const Json& tree, const std::string& path, Json& flat) {
  for (const auto& [key, value] : tree.items()) {
    const std::string name = path.empty() ? key : fmt::format("{}.{}", path, key);
    if (value.is_object())
      flatten(value, name, flat);
    else
      flat[name] = value;
  }
}

}  // namespace

const std::vector<std::string>& known_keys() {
  static const auto known = [] {
    std::vector<std::string> names;
    for (const core::Option& option : config_options()) names.push_back(option.name);
    for (const core::Option& option : transformer::option_table().options()) names.push_back("model." + option.name);
    return names;
  }();
  return known;
}

namespace {

TrainingConfig read_sections(const Json& tree, const std::string& where) {
  core::require(tree.is_object(), ErrorCode::kBadInput, "{}: a training configuration holds keys and values", where);
  OptionReader options(tree, where);
  // Report mistyped keys first: they are often the reason why another key is missing.
  for (const char* key :
       {"output", "threads", "device", "model", "data", "training", "validation", "checkpoint", "logging"})
    options.has(key);
  options.finish();
  TrainingConfig config;
  config.output = options.require_key<std::string>("output");
  options.check(!config.output.empty(), "output", "must name a folder");
  config.threads = options.get("threads", config.threads);
  constexpr core::NumberRange<int> kThreads{.most = core::kMaxThreads};
  options.check(kThreads.contains(config.threads), "threads", kThreads.demand());
  config.device = options.get("device", config.device);
  config.model = read_model(options.subtree("model"), where);
  config.data = read_part(options.child("data"), data_table());
  config.training = read_part(options.child("training"), training_table());
  if (const Json& training = options.subtree("training"); training.is_object() && training.contains("lora"))
    core::require(training["lora"].contains("rank"), ErrorCode::kBadInput,
                  "{}: training.lora: rank is missing: say how large the adapters are, or 0 for none", where);
  config.validation = read_part(options.child("validation"), validation_table());
  config.checkpoint = read_part(options.child("checkpoint"), checkpoint_table());
  config.logging = read_part(options.child("logging"), logging_table());
  check_together(config, where);
  return config;
}

}  // namespace

TrainingConfig read_training_config(const Json& tree, const std::string& where) {
  try {
    return read_sections(tree, where);
  } catch (const core::UnknownKey& error) {
    core::rethrow_with_all_keys(error, where, known_keys());
  }
}

Json to_json(const TrainingConfig& config) {
  return {{"output", config.output},
          {"threads", config.threads},
          {"device", config.device},
          {"model", to_json(config.model)},
          {"data", write_part(config.data, data_table())},
          {"training", write_part(config.training, training_table())},
          {"validation", write_part(config.validation, validation_table())},
          {"checkpoint", write_part(config.checkpoint, checkpoint_table())},
          {"logging", write_part(config.logging, logging_table())}};
}

void complete(TrainingConfig& config, const Json& model, const TokenizerPairConfig& tokenizers,
              const std::string& where) {
  Json whole = model;
  whole.merge_patch(config.model.complete ? to_json(config.model) : config.model.options);
  whole.erase("from");
  const std::string from = config.model.from;
  config.model = read_model(whole, where);
  config.model.from = from;
  if (config.data.source_tokenizer.file.empty()) {
    config.data.source_tokenizer = tokenizers.source;
    config.data.target_tokenizer = tokenizers.target;
  }
  check_together(config, where);
}

void check(const TrainingConfig& config) {
  read_training_config(to_json(config), "training configuration");
}

namespace {

/// Without the file, whose content is compared. null if the kind is not specified.
Json kind_of_tokenizer(const tokenizer::TokenizerSpec& spec) {
  if (spec.type.empty() && spec.options.empty()) return {};
  return {{"type", spec.type}, {"options", spec.options.get()}};
}

/// The same for embeddings.
Json use_of_embeddings(const EmbeddingsConfig& config) {
  if (config.file.empty()) return {};
  return {{"tensor", config.tensor}, {"frozen", config.frozen}, {"scale", config.scale}};
}

}  // namespace

Json keys_that_affect_results(const TrainingConfig& config) {
  Json tree = to_json(config);
  for (const char* key : {"output", "threads", "checkpoint", "logging"}) tree.erase(key);
  for (const char* key : {"train", "validation", "tokenizer", "embeddings", "memory", "cache"}) tree["data"].erase(key);
  tree["model"].erase("from");
  tree["model"].erase("from_matching");
  const DataConfig& data = config.data;
  if (!data.train.weights.empty()) tree["data"]["train_weights"] = data.train.weights;
  if (Json use = use_of_texts(data.train); !use.is_null()) tree["data"]["train_texts"] = use;
  if (Json use = use_of_texts(data.validation); !use.is_null()) tree["data"]["validation_texts"] = use;
  if (Json kind = kind_of_tokenizer(data.source_tokenizer); !kind.is_null()) tree["data"]["source_tokenizer"] = kind;
  if (Json kind = kind_of_tokenizer(data.target_tokenizer); !kind.is_null()) tree["data"]["target_tokenizer"] = kind;
  if (Json use = use_of_embeddings(data.source_embeddings); !use.is_null()) tree["data"]["source_embeddings"] = use;
  if (Json use = use_of_embeddings(data.target_embeddings); !use.is_null()) tree["data"]["target_embeddings"] = use;
  const TrainConfig& recipe = config.training;
  if (!needs_end(recipe.schedule.kind)) tree["training"].erase("updates");
  tree["training"].erase("epochs");
  tree["training"].erase("report_every");
  tree["training"].erase("recompute");
  tree["training"].erase("memory");
  tree["training"].erase("device_memory");
  // The policy for non-finite values does not affect a run without such values.
  for (const char* key : {"on_non_finite", "non_finite_limit"}) tree["training"].erase(key);
  // If validations determine learning rates, everything that affects a validation matters.
  if (recipe.schedule.kind == ScheduleKind::kPlateau)
    for (const char* key : {"samples", "tune", "patience"}) tree["validation"].erase(key);
  else
    tree["validation"] = {{"metric", tree["validation"]["metric"]}};
  Json flat = Json::object();
  flatten(tree, "", flat);
  return flat;
}

}  // namespace dragoman::training
