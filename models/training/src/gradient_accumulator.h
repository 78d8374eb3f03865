#pragma once

#include "batch_source.h"

#include <cstdint>

#include <dragoman/training/batches.h>
#include <dragoman/training/checkpoint.h>
#include <dragoman/training/config.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {

struct UpdateGradients {
  ops::LossSums sums;
  std::int64_t batches = 0;  ///< that went into it: fewer than configured at the end of an epoch
};

/// Walks through the epochs and leaves the gradients of one update after the other in the model. Which sentences those
/// are, and all that is random about them, follows from the TrainingState alone. All references must outlive it.
class GradientAccumulator {
 public:
  GradientAccumulator(const TrainingConfig& config, nn::Seq2SeqModel& model, const Corpus& corpus,
                      tensor::Context& context, core::Executor& executor);

  /// The gradient of the mean loss over all target tokens of the update that comes after `state`.
  UpdateGradients compute(const TrainingState& state);
  /// Moves the state past the update.
  void advance(TrainingState& state, const UpdateGradients& done) const { source_.advance(state, done.batches); }
  /// Cuts the epoch of `state` into batches, if that is not done; compute() does it, too.
  void plan_epoch(const TrainingState& state) { source_.go_to(state); }
  /// Of the epoch that was planned last; an estimate where its pairs are on disk.
  std::int64_t updates_per_epoch() const;
  /// Seconds that training has waited for data, since the last call.
  double take_waiting() noexcept { return source_.take_waiting(); }

 private:
  const TrainingConfig* config_;
  nn::Seq2SeqModel* model_;
  BatchSource source_;
  tensor::Context* context_;
  LossOptions loss_;
  Batch batch_;
};

}  // namespace dragoman::training
