#pragma once

#include <string>
#include <vector>

#include <dragoman/training/config.h>
#include <dragoman/training/early_stopping.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {

/// Whether training ends by its validations, where more than the metric that chooses the best model has a say
/// (ValidationConfig::stop_on): the patience of each other one is counted here. One thread at a time.
class OtherMetrics {
 public:
  explicit OtherMetrics(const ValidationConfig& config);

  /// Takes what one validation found.
  void observe(std::int64_t update, const ValidationResult& result);
  /// Whether training ends, with what the chosen metric says by itself.
  bool exhausted(const EarlyStopping& chosen) const;
  /// For state.json; null if nobody asks them.
  core::Json save() const;
  /// Takes over what save() gave, also of a run with other metrics: those begin anew. `where` is for messages.
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

/// How a metric's patience is counted.
EarlyStopping::Options stopping_options(const ValidationConfig& config, const MetricChoice& metric);

}  // namespace dragoman::training
