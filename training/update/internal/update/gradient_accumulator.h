#pragma once

#include "data/batch_source.h"
#include "update/gradient_reducer.h"
#include "update/gradient_tree.h"

#include <cstdint>
#include <memory>
#include <optional>
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
  std::int64_t tokens = 0;                     ///< tokens with a loss in all batches
  std::int64_t batches = 0;                    ///< of the update: fewer than configured at the end of an epoch
  bool stop_wanted = false;                    ///< whether a process has a stop request
};

/// The model that gradients are computed of, and the processes that share the work. `adapters` may be nullptr: then the
/// model's own parameters are trained.
struct GradientParts {
  nn::Seq2SeqModel& model;
  LowRankAdapters* adapters;
  bool aligned;  ///< whether the training data has word alignments
  collective::Collective& ranks;
  /// The number of values in a bucket, which several processes sum at a time.
  std::int64_t bucket_values = std::int64_t{1} << 20;
  /// Links between the devices of `ranks`. nullptr: gradients pass through host memory.
  collective::DeviceLinks* links = nullptr;
  nn::ParameterStore& trained() const { return adapters != nullptr ? adapters->parameters() : model.parameters(); }
};

/// Goes through the epochs and computes the gradients of one update after the other in the trained parameters. The
/// sentences of an update and all its randomness depend on the TrainingState alone. The sum over the micro-batches of
/// an update has a fixed tree, so it has the same bits for any number of processes. All references must outlive the
/// object.
class GradientAccumulator {
 public:
  GradientAccumulator(const TrainConfig& recipe, const GradientParts& parts, BatchSource& source,
                      tensor::Context& context);

  /// Computes the gradient of the mean loss over all target tokens of the update after `state`, times the state's
  /// loss_scale, if it has one. Each process computes its share. `stop` notifies the others of a stop request in this
  /// process. With one process, it does not wait for the device.
  UpdateGradients compute(const TrainingState& state, bool stop = false);
  /// Moves the state past the update that was computed last.
  void advance(TrainingState& state, const UpdateGradients& done) const { source_->advance(state, done.batches); }
  /// Plans the batches of the epoch of `state`, if that has not been done. compute() does this as well.
  void plan_epoch(const TrainingState& state) { source_->go_to(state); }
  /// Returns the number of updates in the epoch that was planned last; an estimate if its pairs are on disk.
  std::int64_t updates_per_epoch() const;
  /// Returns whether the loss has a term for alignments.
  bool guides_alignment() const noexcept { return guides_alignment_; }
  /// Returns the seconds that training has waited for data since the last call.
  double take_waiting() noexcept { return source_->take_waiting(); }

 private:
  /// One entry per micro-batch.
  using Tokens = std::vector<std::int64_t>;

  /// Returns the tokens of this process's batches. The losses are on the device.
  Tokens compute_share(const TrainingState& state, std::int64_t batches);
  /// Clears the gradient of a first input of the decoder that is zeros, so that it stays so.
  void keep_zero_start();
  /// Returns the tokens of the batch.
  std::int64_t compute_batch(const TrainingState& state, std::int64_t batch, double scale,
                             autograd::Tape::Progress progress);
  ops::LossRecord* losses() const noexcept { return static_cast<ops::LossRecord*>(losses_.data()); }
  /// Exchanges tokens and losses with the other processes. Returns whether one of them, or this one, has a stop
  /// request.
  bool gather(Tokens& tokens, bool stop) const;

  const TrainConfig* recipe_;
  GradientParts parts_;
  BatchSource* source_;
  tensor::Context* context_;
  LossOptions loss_;
  bool guides_alignment_;
  std::optional<bool> zero_start_;  ///< unknown before the first update, when the weights are not read
  GradientTree tree_;
  std::unique_ptr<GradientReducer> reducer_;  ///< nullptr: there is only one process
  tensor::Buffer losses_;                     ///< one LossRecord per micro-batch
  Batch batch_;
};

}  // namespace dragoman::training
