#pragma once

#include "run/run_parts.h"

namespace dragoman::training {

/// Keeps TrainingState::loss_scale as RecipeConfig::loss_scale says. Both must outlive it.
class LossScaler {
 public:
  LossScaler(RunParts& run, RunProgress& progress) : run_(&run), progress_(&progress) {}

  /// To be called when it is known where the run begins or goes on.
  void begin() const;
  /// Takes an update whose gradients are not finite, and after which the run would stand at `after`: moves the state
  /// there, with a smaller scale, and returns true; or returns false where the scale cannot be the reason.
  bool leave_out(const TrainingState& after) const;
  /// Notes in the state that an update is applied.
  void count(TrainingState& state) const;

 private:
  RunParts* run_;
  RunProgress* progress_;
};

}  // namespace dragoman::training
