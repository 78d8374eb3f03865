#include "configuration/config_tables.h"
#include "dragoman/training/option_table.h"
#include "metric_config.h"
#include "table_values.h"

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/decoding/model_defaults.h>

namespace dragoman::training {
namespace {

using core::Json;
using core::Option;
using core::OptionReader;
using core::OptionTable;

/// Reads a number of updates, `epoch`, or {epochs: N}.
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
      .number("first", &Config::first, kSamples, "N", "number of sentences that are the same at every validation")
      .number("random", &Config::random, kSamples, "N", "number of sentences that are drawn for each validation");
}

/// Reads a number, or {first: N, random: N}, which also records the samples.
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

/// Reads {alpha: [X, ...], beam_size: [N, ...]}.
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

}  // namespace

const OptionTable<ValidationConfig>& validation_table() {
  using Config = ValidationConfig;
  static const auto table =
      OptionTable<Config>()
          .custom({{.name = "every",
                    .placeholder = "N",
                    .help = "number of updates between validations; 0: one at the end; `epoch`: at the end of each "
                            "epoch; `{epochs: N}`: at the end of every N-th epoch",
                    .fallback = Json(Config().every)}},
                  read_every, write_every)
          .custom(metric_options(), read_metrics, write_metrics)
          .number("patience", &Config::patience, kCount, "N",
                  "number of validations without a new best after which training ends; 0: no limit")
          .number("minimum_improvement", &Config::minimum_improvement, kNotNegative, "X",
                  "minimum improvement over the last value that counted, for a value to count for patience")
          .choice("stop_on", &Config::stop_on,
                  {{"metric", StopOn::kMetric}, {"any", StopOn::kAny}, {"all", StopOn::kAll}}, "WHICH",
                  "training ends when the patience is exhausted for `metric`, for any measured metric, or for all")
          .number("beam_size", &Config::beam_size, {.least = 1, .most = 1024}, "N", "beam size of the search")
          .number("length_penalty", &Config::length_penalty, {.least = 0, .most = 10}, "X",
                  "alpha of fairseq's length penalty")
          .number("batch_tokens", &Config::batch_tokens, kAtLeastOne, "N", "number of source tokens decoded at a time")
          .custom({{.name = "samples",
                    .placeholder = "N",
                    .help = "number of first sentences to show with prediction and reference; `{first: N, random: N}`: "
                            "also random ones, drawn for each validation, and all of them in metrics.jsonl",
                    .fallback = Json(Config().samples.first)}},
                  read_samples, write_samples)
          .number("threads", &Config::threads, {.most = core::kMaxThreads}, "N",
                  "0: training waits for validations; otherwise training continues while a validation runs on N "
                  "separate threads, and its result takes effect at the next validation")
          .choice("compute", &Config::compute, {tensor::kComputeChoices.begin(), tensor::kComputeChoices.end()}, "TYPE",
                  std::string(tensor::kComputeHelp))
          .custom({{.name = "tune",
                    .placeholder = "{alpha: [X, ...], beam_size: [N, ...]}",
                    .help = "settings of the beam search to try after training; the best ones are stored in the "
                            "model's folder (config.json, decoding)"}},
                  read_tune, write_tune);
  return table;
}

}  // namespace dragoman::training
