#include "metric_config.h"

#include "configuration/config_tables.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>

namespace dragoman::training {
namespace {

using core::Json;
using core::OptionReader;

constexpr std::array<std::pair<std::string_view, ValidationMetric>, 6> kBuiltIn{
    {{"loss", ValidationMetric::kLoss},
     {"perplexity", ValidationMetric::kPerplexity},
     {"bleu", ValidationMetric::kBleu},
     {"chrf", ValidationMetric::kChrf},
     {"chrf++", ValidationMetric::kChrfPlusPlus},
     {"ter", ValidationMetric::kTer}}};
std::string built_in_names() {
  std::string names;
  for (const auto& [name, metric] : kBuiltIn) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::string known() {
  return fmt::format("{}, {{name: NAME, command: COMMAND}} and {{name: NAME, function: FUNCTION}}", built_in_names());
}

constexpr std::array<std::string_view, 3> kPlaceholders{"{hypotheses}", "{references}", "{sources}"};

const ValidationMetric* built_in(std::string_view name) {
  const auto* const found = std::ranges::find(kBuiltIn, name, &decltype(kBuiltIn)::value_type::first);
  return found == kBuiltIn.end() ? nullptr : &found->second;
}

/// Reads a command: a line for a shell, or a list of arguments without one.
std::vector<std::string> read_command(OptionReader& reader) {
  const Json& value = reader.subtree("command");
  if (value.is_string()) return {value.get<std::string>()};
  reader.check(value.is_array() && value.size() >= 2, "command",
               "must be a line for a shell, or a list of a program and its arguments");
  std::vector<std::string> words;
  for (const Json& word : value) {
    reader.check(word.is_string(), "command", "must hold a program and its arguments, as texts");
    words.push_back(word.get<std::string>());
  }
  return words;
}

/// Names are keys of metrics.jsonl, which has other keys, too, and titles in reports.
bool is_free_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '+';
  };
  constexpr std::array<std::string_view, 11> kTaken{"type",  "update",  "epoch",      "best",    "BLEU",         "TER",
                                                    "chrF2", "chrF2++", "signatures", "seconds", "target_tokens"};
  return !name.empty() && name.size() <= 40 && std::ranges::all_of(name, plain) && built_in(name) == nullptr &&
         std::ranges::find(kTaken, name) == kTaken.end();
}

/// Reads the keys that programs and functions share.
template <class Metric>
void read_shared_keys(OptionReader& reader, Metric& metric) {
  metric.name = reader.require_key<std::string>("name");
  reader.check(is_free_name(metric.name), "name",
               "must be 1 to 40 letters, digits and -_.+, and not what metrics.jsonl has already");
  metric.higher_is_better = reader.choice("better", true, {{"higher", true}, {"lower", false}});
  metric.failure = reader.choice("on_failure", MetricFailure::kWarn,
                                 {{"warn", MetricFailure::kWarn}, {"stop", MetricFailure::kStop}});
}

void read_external(OptionReader& reader, ExternalMetric& external) {
  reader.check(reader.has("command"), "command", "is missing: name the program that computes the figure");
  external.command = read_command(reader);
  const bool told = std::ranges::any_of(
      external.command, [](const std::string& word) { return word.find(kPlaceholders[0]) != std::string::npos; });
  reader.check(told, "command", "must say where the file of translations stands: {hypotheses}");
  external.timeout = reader.get("timeout", external.timeout);
  constexpr core::NumberRange<std::int64_t> kSeconds{.least = 1, .most = 1'000'000};
  reader.check(kSeconds.contains(external.timeout), "timeout", kSeconds.demand());
}

void read_function(OptionReader& reader, FunctionMetric& metric) {
  metric.function = reader.require_key<std::string>("function");
  reader.check(!reader.has("command"), "command", "is for a program, and this metric is a function; leave one out");
  reader.check(!reader.has("timeout"), "timeout", "is for a program; a function has no time limit, so leave it out");
}

MetricChoice read_given(OptionReader& options, const Json& tree) {
  OptionReader reader(tree, options.where() + ": metrics");
  MetricChoice metric;
  if (reader.has("function")) {
    metric.kind = ValidationMetric::kFunction;
    read_shared_keys(reader, metric.function);
    read_function(reader, metric.function);
  } else {
    metric.kind = ValidationMetric::kCommand;
    read_shared_keys(reader, metric.external);
    read_external(reader, metric.external);
  }
  reader.finish();
  return metric;
}

MetricChoice read_metric(OptionReader& options, const Json& tree) {
  if (tree.is_object()) return read_given(options, tree);
  const ValidationMetric* kind = tree.is_string() ? built_in(tree.get_ref<const std::string&>()) : nullptr;
  options.check(kind != nullptr, "metrics", fmt::format("may hold {}", known()));
  return {.kind = *kind};
}

const char* better_name(bool higher_is_better) {
  return higher_is_better ? "higher" : "lower";
}
const char* failure_name(MetricFailure failure) {
  return failure == MetricFailure::kStop ? "stop" : "warn";
}

Json to_json(const MetricChoice& metric) {
  if (metric.kind == ValidationMetric::kFunction)
    return {{"name", metric.function.name},
            {"function", metric.function.function},
            {"better", better_name(metric.function.higher_is_better)},
            {"on_failure", failure_name(metric.function.failure)}};
  if (metric.kind != ValidationMetric::kCommand) return metric.name();
  const ExternalMetric& external = metric.external;
  return {{"name", external.name},
          {"command", external.command.size() == 1 ? Json(external.command.front()) : Json(external.command)},
          {"better", better_name(external.higher_is_better)},
          {"timeout", external.timeout},
          {"on_failure", failure_name(external.failure)}};
}

/// Loss and perplexity are always measured.
const MetricChoice* find_metric(const std::vector<MetricChoice>& metrics, std::string_view name) {
  static const MetricChoice loss{.kind = ValidationMetric::kLoss};
  static const MetricChoice perplexity{.kind = ValidationMetric::kPerplexity};
  if (name == "loss") return &loss;
  if (name == "perplexity") return &perplexity;
  const auto found = std::ranges::find(metrics, name, &MetricChoice::name);
  return found == metrics.end() ? nullptr : &*found;
}

void read_list(OptionReader& options, ValidationConfig& config) {
  const Json& list = options.subtree("metrics");
  options.check(list.is_array() && list.size() <= 100, "metrics",
                fmt::format("must be a list of {}; [] reports the loss alone", known()));
  config.metrics.clear();
  for (const Json& item : list) {
    MetricChoice metric = read_metric(options, item);
    if (!metric.decodes()) continue;  // always reported
    const bool again = std::ranges::find(config.metrics, metric.name(), &MetricChoice::name) != config.metrics.end();
    options.check(!again, "metrics", fmt::format("holds {} twice", metric.name()));
    config.metrics.push_back(std::move(metric));
  }
}

}  // namespace

std::string MetricChoice::name() const {
  if (kind == ValidationMetric::kCommand) return external.name;
  if (kind == ValidationMetric::kFunction) return function.name;
  for (const auto& [name, known] : kBuiltIn)
    if (known == kind) return std::string(name);
  return {};
}

bool MetricChoice::higher_is_better() const noexcept {
  switch (kind) {
    case ValidationMetric::kLoss:
    case ValidationMetric::kPerplexity:
    case ValidationMetric::kTer:
      return false;
    case ValidationMetric::kCommand:
      return external.higher_is_better;
    case ValidationMetric::kFunction:
      return function.higher_is_better;
    default:
      return true;
  }
}

void read_metrics(OptionReader& options, ValidationConfig& config) {
  if (options.has("metrics")) read_list(options, config);
  const std::string usual = config.metrics.empty() ? "loss" : config.metrics.front().name();
  const auto name = options.get<std::string>("metric", usual);
  const MetricChoice* metric = find_metric(config.metrics, name);
  if (metric == nullptr && built_in(name) == nullptr)
    options.check(
        false, "metric",
        fmt::format("is {}; it must be one of {}, or what metrics lists", core::quote(name), built_in_names()));
  options.check(metric != nullptr, "metric", fmt::format("is {}, but metrics does not list it", name));
  config.metric = *metric;
}

void write_metrics(const ValidationConfig& config, Json& json) {
  Json metrics = Json::array();
  for (const MetricChoice& metric : config.metrics) metrics.push_back(to_json(metric));
  json["metrics"] = std::move(metrics);
  json["metric"] = config.metric.name();
}

std::vector<core::Option> metric_options() {
  return {{.name = "metrics",
           .placeholder = "[NAME, ...]",
           .help = "metrics besides loss and perplexity: bleu, chrf, chrf++, ter, and programs: `{name: NAME, command: "
                   "COMMAND, better: higher, timeout: SECONDS, on_failure: warn}`",
           .fallback = Json(Json::array({"bleu", "chrf"}))},
          {.name = "metric",
           .placeholder = "NAME",
           .help = "metric that selects the best model and ends training: loss, perplexity, or one of `metrics` "
                   "(default: the first of `metrics`, otherwise loss)"}};
}

}  // namespace dragoman::training
