#pragma once

#include "run_progress.h"

namespace dragoman::training {

/// Keeps TrainingState::loss_scale as TrainConfig::loss_scale specifies. Both must outlive it.
class LossScaler {
 public:
  LossScaler(const TrainConfig& recipe, RunProgress& progress) : recipe_(&recipe), progress_(&progress) {}

  /// Must be called after the initial or resumed position of the run is known.
  void begin() const;
  /// Skips an update whose gradients are not finite. `after` is the position of the run after that update: the state
  /// moves there, with a smaller scale, and the function returns true. Returns false if the scale cannot be the reason.
  bool leave_out(const TrainingState& after) const;
  /// Records in the state that an update was applied.
  void count(TrainingState& state) const;

 private:
  const TrainConfig* recipe_;
  RunProgress* progress_;
};

}  // namespace dragoman::training
