#include "dragoman/training/tune.h"

#include <cmath>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/decoding/model_defaults.h>

namespace dragoman::training {
namespace {

using core::Json;

/// Returns every combination. A list without values leaves its setting unchanged.
std::vector<Json> combinations(const Json& base, const TuneConfig& config) {
  const auto with_each = [](const std::vector<Json>& bases, const char* key, const auto& values) {
    if (values.empty()) return bases;
    std::vector<Json> changed;
    for (const Json& one : bases)
      for (const auto& value : values) {
        changed.push_back(one);
        changed.back()[key] = value;
      }
    return changed;
  };
  return with_each(with_each({base}, "beam_size", config.beam_size), "alpha", config.alpha);
}

}  // namespace

TuneMetric tune_metric(const evaluation::Metric& metric, const std::vector<std::string>& references) {
  return {.score =
              [&](const std::vector<std::string>& hypotheses) {
                return evaluation::corpus_score(metric, hypotheses, {&references, 1});
              },
          .higher_is_better = metric.higher_is_better()};
}

TuneResult tune_decoding(const Json& model_defaults, const TuneConfig& config, const TuneMetric& metric,
                         const TranslateText& translate, const std::string& where) {
  TuneResult result;
  std::vector<decoding::DecodingOptions> searches;
  for (Json& decoding : combinations(model_defaults, config)) {
    const decoding::Search search = decoding::read_model_defaults(decoding, where);
    searches.push_back(decoding::resolve({&search}));
    core::require_option(searches.back().strategy == "beam", "decoder", core::ErrorCode::kBadInput,
                         "{}: decoder: is {}, but what is tuned is beam search; leave it out", where,
                         searches.back().strategy);
    result.trials.push_back({std::move(decoding), {}});
  }
  const auto better = [&](double one, double other) { return metric.higher_is_better ? one > other : one < other; };
  for (std::size_t i = 0; i < searches.size(); ++i) {
    result.trials[i].score = metric.score(translate(searches[i]));
    const double value = result.trials[i].score.value;
    if (std::isnan(value)) continue;
    if (!result.best || better(value, result.trials[*result.best].score.value)) result.best = i;
  }
  return result;
}

std::string describe(const TuneTrial& trial) {
  std::string text;
  for (const char* key : {"beam_size", "alpha"})
    if (const auto found = trial.decoding.find(key); found != trial.decoding.end())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, core::one_line(*found));
  return fmt::format("{}: {} {:.2f}{}{}", text.empty() ? "as it is" : text, trial.score.name, trial.score.value,
                     trial.score.details.empty() ? "" : " ", trial.score.details);
}

}  // namespace dragoman::training
