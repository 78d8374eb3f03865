#include "validation/other_metrics.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::training {

EarlyStopping::Options stopping_options(const ValidationConfig& config, const MetricChoice& metric) {
  return {.higher_is_better = metric.higher_is_better(),
          .patience = config.patience,
          .remember = 1,
          .minimum_improvement = config.minimum_improvement};
}

/// The loss is always measured, so it is one of them.
OtherMetrics::OtherMetrics(const ValidationConfig& config) : stop_on_(config.stop_on) {
  if (stop_on_ == StopOn::kMetric) return;
  std::vector<MetricChoice> all{{.kind = ValidationMetric::kLoss}};
  all.insert(all.end(), config.metrics.begin(), config.metrics.end());
  for (MetricChoice& metric : all) {
    if (metric.name() == config.metric.name()) continue;
    const EarlyStopping::Options options = stopping_options(config, metric);
    watched_.push_back({.metric = std::move(metric), .stopping = EarlyStopping(options)});
  }
}

void OtherMetrics::observe(std::int64_t update, const ValidationResult& result) {
  for (Watched& watched : watched_) watched.stopping.observe(update, result.value(watched.metric));
}

bool OtherMetrics::exhausted(const EarlyStopping& chosen) const {
  const auto is_exhausted = [](const Watched& watched) { return watched.stopping.exhausted(); };
  if (stop_on_ == StopOn::kAny) return chosen.exhausted() || std::ranges::any_of(watched_, is_exhausted);
  return chosen.exhausted() && std::ranges::all_of(watched_, is_exhausted);
}

core::Json OtherMetrics::save() const {
  core::Json json;
  for (const Watched& watched : watched_) json[watched.metric.name()] = watched.stopping.save();
  return json;
}

void OtherMetrics::restore(const core::Json& json, const std::string& where) {
  core::require(json.is_null() || json.is_object(), core::ErrorCode::kBadInput, "{}: must hold keys and values", where);
  for (Watched& watched : watched_)
    if (const std::string name = watched.metric.name(); json.is_object() && json.contains(name))
      watched.stopping.restore(json[name], where + ": " + name);
}

void OtherMetrics::restart() {
  for (Watched& watched : watched_) watched.stopping.restart();
}

}  // namespace dragoman::training
