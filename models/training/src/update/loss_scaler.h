#pragma once

#include "run/run_parts.h"

namespace dragoman::training {

/// Keeps TrainingState::loss_scale as RecipeConfig::loss_scale says. Both must outlive it.
class LossScaler {
 public:
  LossScaler(RunParts& run, RunProgress& progress) : run_(&run), progress_(&progress) {}

  /// To be called when it is known where the run begins or goes on.
  void begin() const;
  /// What gradients are multiplied by: 1 where they are not.
  std::int64_t scale() const noexcept;
  /// Takes an update whose gradients are not finite: moves the state past it, with a smaller scale, and returns true;
  /// or returns false where the scale cannot be the reason.
  bool leave_out(const UpdateGradients& gradients) const;
  /// An update has been applied.
  void count() const;

 private:
  RunParts* run_;
  RunProgress* progress_;
};

}  // namespace dragoman::training
