#pragma once

#include "data/batch_source.h"
#include "update/gradient_reducer.h"
#include "update/gradient_tree.h"

#include <cstdint>
#include <memory>
#include <vector>

#include <dragoman/collective/collective.h>
#include <dragoman/collective/device_links.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/config.h>
#include <dragoman/training/loss.h>
#include <dragoman/training/low_rank_adapters.h>
#include <dragoman/training/training_state.h>

namespace dragoman::training {

struct UpdateGradients {
  ops::DeviceArray<ops::LossRecord> losses{};  ///< of each batch of all processes, until the next compute()
  std::int64_t tokens = 0;                     ///< of all of them: those with a loss
  std::int64_t batches = 0;                    ///< that went into it: fewer than configured at the end of an epoch
  bool stop_wanted = false;                    ///< whether a process has asked for a stop
};

/// The model of the gradients, and the processes that share them. Adapters may be nullptr: then the model's own
/// parameters are trained.
struct GradientParts {
  nn::Seq2SeqModel& model;
  LowRankAdapters* adapters;
  bool aligned;  ///< whether the training data has word alignments
  collective::Collective& ranks;
  /// Values of a bucket, which several processes sum at a time.
  std::int64_t bucket_values = std::int64_t{1} << 20;
  /// Between the devices of `ranks`; nullptr: through the host's memory.
  collective::DeviceLinks* links = nullptr;
  nn::ParameterStore& trained() const { return adapters != nullptr ? adapters->parameters() : model.parameters(); }
};

/// Walks through the epochs and leaves the gradients of one update after the other in what is trained. Which sentences
/// those are, and all that is random about them, follows from the TrainingState alone; the sum over the micro-batches
/// of an update is made by a fixed tree, so it has the same bits however many processes share them. All references
/// must outlive it.
class GradientAccumulator {
 public:
  GradientAccumulator(const TrainConfig& recipe, const GradientParts& parts, BatchSource& source,
                      tensor::Context& context);

  /// The gradient of the mean loss over all target tokens of the update that comes after `state`, times the state's
  /// loss_scale, if it has one; its share of each process is computed there. `stop` tells the others that this process
  /// was asked to stop. Alone, it does not wait for the device.
  UpdateGradients compute(const TrainingState& state, bool stop = false);
  /// Moves the state past the update that was computed last.
  void advance(TrainingState& state, const UpdateGradients& done) const { source_->advance(state, done.batches); }
  /// Cuts the epoch of `state` into batches, if that is not done; compute() does it, too.
  void plan_epoch(const TrainingState& state) { source_->go_to(state); }
  /// Of the epoch that was planned last; an estimate where its pairs are on disk.
  std::int64_t updates_per_epoch() const;
  /// Whether the loss has a part for alignments.
  bool guides_alignment() const noexcept { return guides_alignment_; }
  /// Seconds that training has waited for data, since the last call.
  double take_waiting() noexcept { return source_->take_waiting(); }

 private:
  /// Of each micro-batch.
  using Tokens = std::vector<std::int64_t>;

  /// The tokens of this process's batches; the losses are on the device.
  Tokens compute_share(const TrainingState& state, std::int64_t batches);
  /// Its tokens.
  std::int64_t compute_batch(const TrainingState& state, std::int64_t batch, double scale,
                             autograd::Tape::Progress progress);
  ops::LossRecord* losses() const noexcept { return static_cast<ops::LossRecord*>(losses_.data()); }
  /// Fills in tokens and losses that the other processes have; whether one of them, or this one, wants to stop.
  bool gather(Tokens& tokens, bool stop) const;

  const TrainConfig* recipe_;
  GradientParts parts_;
  BatchSource* source_;
  tensor::Context* context_;
  LossOptions loss_;
  bool guides_alignment_;
  GradientTree tree_;
  std::unique_ptr<GradientReducer> reducer_;  ///< nullptr: there is one process
  tensor::Buffer losses_;                     ///< a LossRecord for each micro-batch
  Batch batch_;
};

}  // namespace dragoman::training
