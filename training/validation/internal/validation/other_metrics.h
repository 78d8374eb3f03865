#pragma once

#include <string>
#include <vector>

#include <dragoman/training/config.h>
#include <dragoman/training/early_stopping.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {

/// Determines whether validations end training if other metrics than the one that selects the best model count, too
/// (ValidationConfig::stop_on). It counts the patience of each other metric. Not thread-safe.
class OtherMetrics {
 public:
  explicit OtherMetrics(const ValidationConfig& config);

  /// Takes the result of one validation.
  void observe(std::int64_t update, const ValidationResult& result);
  /// Returns whether training ends, given the state of the selecting metric.
  bool exhausted(const EarlyStopping& chosen) const;
  /// Returns the state for state.json; null if the metrics are not used.
  core::Json save() const;
  /// Restores the result of save(), also of a run with other metrics, which start again. `where` names the file in
  /// messages.
  void restore(const core::Json& json, const std::string& where);
  void restart();

 private:
  struct Watched {
    MetricChoice metric;
    EarlyStopping stopping;
  };

  StopOn stop_on_;
  std::vector<Watched> watched_;
};

/// Returns how the patience of a metric is counted.
EarlyStopping::Options stopping_options(const ValidationConfig& config, const MetricChoice& metric);

}  // namespace dragoman::training
