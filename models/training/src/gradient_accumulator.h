#pragma once

#include <cstdint>
#include <optional>

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
  GradientAccumulator(const TrainingConfig& config, nn::Seq2SeqModel& model, Corpus& corpus, tensor::Context& context);

  /// The gradient of the mean loss over all target tokens of the update that comes after `state`.
  UpdateGradients compute(const TrainingState& state);
  /// Moves the state past the update.
  void advance(TrainingState& state, const UpdateGradients& done) const;
  /// Cuts the epoch of `state` into batches, if that is not done; compute() does it, too.
  void plan_epoch(const TrainingState& state);
  /// Of the epoch that was planned last.
  std::int64_t updates_per_epoch() const;

 private:
  std::int64_t target_tokens(const EncodedPairs& pairs, const TrainingState& state, std::int64_t batches) const;

  const TrainingConfig* config_;
  nn::Seq2SeqModel* model_;
  Corpus* corpus_;
  tensor::Context* context_;
  LossOptions loss_;
  std::optional<EpochPlan> plan_;
  std::int64_t planned_epoch_ = -1;
  Batch batch_;
};

}  // namespace dragoman::training
