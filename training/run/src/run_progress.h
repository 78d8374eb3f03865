#pragma once

#include "records/tensorboard_log.h"
#include "run/checkpoint.h"
#include "run/run_log.h"
#include "validation/other_metrics.h"

#include <optional>

namespace dragoman::training {

class RunFolder;

/// The state of a run that changes from one update to the next, except for parameters, moments and averages.
struct RunProgress {
  explicit RunProgress(const TrainingConfig& config);

  TrainingState state;
  EarlyStopping early_stopping;
  Plateau plateau;
  OtherMetrics other_metrics;
  std::optional<RunLog> metrics;              ///< open after the position of the run is known
  std::optional<TensorBoardLog> tensorboard;  ///< likewise, if configured
  bool unsaved = false;                       ///< whether the state has changed since the newest checkpoint

  /// Opens the logs at the position of `state`.
  void open_logs(const RunFolder& folder, const LoggingConfig& config);
  /// Adds a line to metrics.jsonl and its values to the event file.
  void append(const core::Json& line);
  bool at_end(const TrainingConfig& config) const { return at_end(config, state); }
  /// Returns whether training ends at this position.
  bool at_end(const TrainingConfig& config, const TrainingState& where) const;
};

/// Returns whether the configuration schedules a checkpoint after this update.
bool checkpoint_scheduled(const CheckpointConfig& config, const TrainingState& state);
/// Returns whether the configuration schedules a validation after this update, whether or not it was made.
bool validation_scheduled(const ValidationConfig& config, const TrainingState& state);

/// Returns whether checkpoints of the best validated updates are averaged at the end, and hence must exist.
bool averages_best(const CheckpointConfig& config);

}  // namespace dragoman::training
