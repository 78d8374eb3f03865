#pragma once

#include "records/checkpoint_keeper.h"

#include <string>

namespace dragoman::training {

/// Applies the policy for updates whose loss, gradient or parameters are not finite (TrainConfig::on_non_finite). All
/// references must outlive it.
class NonFiniteUpdates {
 public:
  NonFiniteUpdates(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints)
      : run_(&run), progress_(&progress), checkpoints_(&checkpoints) {}

  struct Figures {
    double loss = 0;
    double gradient_norm = 0;
  };
  /// Takes the update that comes after progress.state and has not been applied. Either moves the state past it, to
  /// `after`, with the parameters as the policy says, or throws Error{kInvalidArgument}, which names what was not
  /// finite first.
  void leave_out(const TrainingState& after, const Figures& figures);
  /// The same of the update that was applied last and has left parameters that are not finite: undone to a checkpoint.
  void undo_update();

 private:
  /// Counts one more; Error if that is more than the limit. `what` is what happened, for the message.
  void count(const std::string& what) const;
  void restore_parameters() const;

  RunParts* run_;
  RunProgress* progress_;
  CheckpointKeeper* checkpoints_;
};

}  // namespace dragoman::training
