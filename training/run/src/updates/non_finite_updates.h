#pragma once

#include "records/checkpoint_keeper.h"

#include <string>

namespace dragoman::training {

/// Applies the policy for updates whose loss, gradient or parameters are not finite (TrainConfig::on_non_finite). All
/// references must outlive the object.
class NonFiniteUpdates {
 public:
  NonFiniteUpdates(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints)
      : run_(&run), progress_(&progress), checkpoints_(&checkpoints) {}

  struct Figures {
    double loss = 0;
    double gradient_norm = 0;
  };
  /// Handles the update after progress.state, which has not been applied. Either moves the state to `after`, with the
  /// parameters that the policy specifies, or throws Error{kInvalidArgument}, which names the first non-finite value.
  void leave_out(const TrainingState& after, const Figures& figures);
  /// Handles the last applied update, after which parameters are not finite: restores a checkpoint.
  void undo_update();

 private:
  /// Counts one more. Error if the count exceeds the limit. `what` describes the event, for the message.
  void count(const std::string& what) const;
  void restore_parameters() const;

  RunParts* run_;
  RunProgress* progress_;
  CheckpointKeeper* checkpoints_;
};

}  // namespace dragoman::training
