#pragma once

#include "records/tensorboard_log.h"
#include "run/checkpoint.h"
#include "run/run_log.h"
#include "validation/other_metrics.h"

#include <optional>

namespace dragoman::training {

class RunFolder;

/// The state of a run that changes from one update to the next, apart from parameters, moments and averages.
struct RunProgress {
  explicit RunProgress(const TrainingConfig& config);

  TrainingState state;
  EarlyStopping early_stopping;
  Plateau plateau;
  OtherMetrics other_metrics;
  std::optional<RunLog> metrics;              ///< open once it is known where the run goes on
  std::optional<TensorBoardLog> tensorboard;  ///< the same, if asked for
  bool unsaved = false;                       ///< whether something has changed since the newest checkpoint

  /// Opens them where `state` stands.
  void open_logs(const RunFolder& folder, const LoggingConfig& config);
  /// Adds a line to metrics.jsonl and its values to the event file.
  void append(const core::Json& line);
  bool at_end(const TrainingConfig& config) const { return at_end(config, state); }
  /// Whether training ends where it stands so.
  bool at_end(const TrainingConfig& config, const TrainingState& where) const;
};

/// Whether the configuration asks for a checkpoint after this update.
bool checkpoint_scheduled(const CheckpointConfig& config, const TrainingState& state);
/// Whether the configuration asks for a validation after this update, be it made or not.
bool validation_scheduled(const ValidationConfig& config, const TrainingState& state);

/// Whether checkpoints of the best validated updates are averaged at the end, and hence must exist.
bool averages_best(const CheckpointConfig& config);

}  // namespace dragoman::training
