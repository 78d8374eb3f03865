#include "configuration/config_tables.h"

#include "dragoman/training/option_table.h"
#include "method_tables.h"
#include "table_values.h"

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>

namespace dragoman::training {
namespace {

using core::Json;
using core::Option;
using core::OptionReader;
using core::OptionTable;

void read_device_memory(OptionReader& recipe, TrainConfig& config) {
  config.device_memory = read_size(recipe, "device_memory", "all that there is");
}

void write_device_memory(const TrainConfig& config, Json& json) {
  json["device_memory"] = as_size(config.device_memory);
}

/// Reads a number, or "auto", for which `memory` is the limit.
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

/// Returns all number types except int8, which has no gradients.
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
              "train low-rank adapters of this rank instead of the weights (LoRA); 0: train the weights")
      .number("alpha", &Config::alpha, {.least = 0, .most = 1e6, .least_included = false}, "X",
              "the output of adapters is multiplied by alpha / rank")
      .custom(
          {patterns_option("targets",
                           "names of linear layers' weights with adapters, such as *_attention.*; empty: all except "
                           "the projection to the vocabulary")},
          [](OptionReader& options, Config& config) { config.targets = read_patterns(options, "targets"); },
          [](const Config& config, Json& json) { json["targets"] = config.targets; });
}

OptionTable<TrainingConfig> whole_table() {
  using Config = TrainingConfig;
  return OptionTable<Config>()
      .text("output", &Config::output, "FOLDER", "folder of the run; only one process may train in it at a time")
      .number("threads", &Config::threads, {.most = core::kMaxThreads}, "N",
              "0: all cores that the process may use; results do not depend on it")
      .text("device", &Config::device, "NAME",
            "cpu, reference, a device of a plugin, or auto (the best available one); `doctor` lists them")
      .nested("model", &Config::model, model_table())
      .nested("data", &Config::data, data_table())
      .nested("training", &Config::training, training_table())
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
                .help = "model to start from: its configuration, weights and tokenizers; other keys override the "
                        "configuration"}},
              [](OptionReader& options, Config& config) { config.from = options.get("from", config.from); },
              [](const Config& config, Json& json) {
                if (!config.from.empty()) json["from"] = config.from;
              })
          .custom(
              {{.name = "from_matching",
                .placeholder = "true|false",
                .help = "take only parameters with equal names and shapes from `from`; initialise the others"}},
              [](OptionReader& options, Config& config) {
                config.from_matching = options.get("from_matching", config.from_matching);
              },
              [](const Config& config, Json& json) {
                if (config.from_matching) json["from_matching"] = true;
              })
          .text("type", &Config::type, "NAME", "transformer, t5, or a model type of a plugin; each has additional keys")
          .number("maximum_source_length", &Config::maximum_source_length, kLength, "N",
                  "maximum length of a source in translation, in tokens including the end")
          .number("maximum_target_length", &Config::maximum_target_length, kLength, "N",
                  "maximum length of a target in translation, in tokens including the end")
          .choice("decoder_start", &Config::decoder_start,
                  {{"begin", DecoderStart::kBegin}, {"end", DecoderStart::kEnd}, {"zeros", DecoderStart::kZeros}},
                  "INPUT",
                  "first input of the decoder: the begin or end token (as in fairseq), or a vector of zeros (as in "
                  "Marian)");
  return table;
}

const OptionTable<TrainConfig>& training_table() {
  using Config = TrainConfig;
  static const auto table =
      OptionTable<Config>()
          .number("seed", &Config::seed, {}, "N", "seed of all random numbers")
          .number("updates", &Config::updates, kCount, "N", "maximum number of updates; 0: no limit")
          .number("epochs", &Config::epochs, kCount, "N", "maximum number of passes over the data; 0: no limit")
          .custom({{.name = "batch_tokens",
                    .placeholder = "N",
                    .help = "maximum number of tokens on each side of a batch, before row_bucket; auto: the number "
                            "that fits into memory",
                    .fallback = Json(Config().batch_tokens)},
                   {.name = "memory",
                    .placeholder = "SIZE",
                    .help = "with batch_tokens: auto, total memory limit of training, such as 4GB",
                    .fallback = Json(0)}},
                  read_batch_tokens, write_batch_tokens)
          .number("row_bucket", &Config::row_bucket, {.least = 0, .most = 65536}, "N",
                  "tokens and pairs of a batch are rounded up to a multiple of this, with pairs that do not count; 0: "
                  "chosen for the device")
          .flag(
              "batch_invariant", &Config::batch_invariant,
              "on a GPU: compute products with the same order of sums for all shapes, at a cost; always so on the CPU")
          .custom({{.name = "device_memory",
                    .placeholder = "SIZE",
                    .help = "on a GPU: memory limit, such as 40GB; 0: all of it",
                    .fallback = Json(0)}},
                  read_device_memory, write_device_memory)
          .number("accumulate", &Config::accumulate, {.least = 1, .most = 65536}, "N",
                  "number of batches per update, divided among the processes that train together")
          .choice(
              "compute", &Config::compute, training_choices(), "TYPE",
              "number type of matrix products; auto: bf16 where that is faster; fp16: on a GPU. Parameters remain fp32")
          .nested("loss_scale", &Config::loss_scale, loss_scale_table())
          .flag("recompute", &Config::recompute,
                "keep only the inputs and outputs of each layer, and recompute the rest in the backward pass: less "
                "memory, about a quarter more time, the same results")
          .number("label_smoothing", &Config::label_smoothing, {.least = 0, .most = 0.99}, "P",
                  "share of the target's probability that is distributed over the vocabulary")
          .choice("label_smoothing_kind", &Config::label_smoothing_kind, smoothing_kinds(), "NAME",
                  "distribute it over all pieces (uniform), or over all except the target (others)")
          .number("r_drop", &Config::r_drop, {.least = 0, .most = 1000}, "X",
                  "R-Drop: weight of the divergence between two passes with different dropout; 0: off")
          .nested("guided_alignment", &Config::guided_alignment, guided_alignment_table())
          .nested("word_dropout", &Config::word_dropout, word_dropout_table())
          .number("clip_norm", &Config::clip_norm, kNotNegative, "X",
                  "maximum norm of an update's gradient; 0: no limit")
          .number("clip_value", &Config::clip_value, kNotNegative, "X",
                  "maximum absolute value of each element of a gradient, applied before clip_norm; 0: no limit")
          .choice("on_non_finite", &Config::on_non_finite, non_finite_policies(), "POLICY",
                  "reaction to a loss or gradient that is not finite: stop training, skip the update, or restore the "
                  "parameters of the last checkpoint")
          .number("non_finite_limit", &Config::non_finite_limit, kAtLeastOne, "N",
                  "maximum number of updates in a run to skip or restore")
          .number("ema_decay", &Config::ema_decay, {.least = 0, .most = 0.9999999}, "X",
                  "decay of a moving average of the parameters, which validation and export then use; 0: off")
          .number("report_every", &Config::report_every, kAtLeastOne, "N",
                  "number of updates per line of metrics.jsonl")
          .custom({patterns_option("train_only", "names of parameters to train, such as decoder.*; empty: all"),
                   patterns_option(
                       "freeze", "names of parameters not to train; the table of tensors in `inspect` has the names")},
                  read_trained, write_trained)
          .nested("lora", &Config::lora, lora_table())
          .nested("optimizer", &Config::optimizer, optimizer_table())
          .nested("schedule", &Config::schedule, schedule_table());
  return table;
}

const OptionTable<CheckpointConfig>& checkpoint_table() {
  using Config = CheckpointConfig;
  static const auto table =
      OptionTable<Config>()
          .number("every", &Config::every, kCount, "N", "number of updates between checkpoints; 0: one at the end")
          .number("keep", &Config::keep, {.least = 1, .most = 1000000}, "N", "number of newest checkpoints to keep")
          .number("average", &Config::average, {.least = 0, .most = 1000}, "N",
                  "number of checkpoints whose mean becomes the model `average`; 0: none")
          .choice("average_of", &Config::average_of, {{"last", AverageOf::kLast}, {"best", AverageOf::kBest}}, "WHICH",
                  "checkpoints to average: the last ones, or the best ones")
          .choice("export", &Config::export_f16, {{"f32", false}, {"f16", true}}, "TYPE",
                  "number type of the weights in exported models");
  return table;
}

const OptionTable<LoggingConfig>& logging_table() {
  using Config = LoggingConfig;
  static const auto table = OptionTable<Config>().flag(
      "tensorboard", &Config::tensorboard, "write event files for TensorBoard to the folder `tensorboard` of the run");
  return table;
}

const std::vector<Option>& config_options() {
  static const OptionTable<TrainingConfig> table = whole_table();
  return table.options();
}

}  // namespace dragoman::training
