#pragma once

#include <cstdint>

#include <dragoman/autograd/tape.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// The key of the random draws of one batch.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< differs for every batch of a run
};

/// The loss of a batch.
struct LossOptions {
  LossOptions(double smoothing = 0) : label_smoothing(smoothing) {}  // NOLINT(google-explicit-constructor): the usual
  /// Distributed over the vocabulary, including the target (ops::CrossEntropyRowsArguments).
  double label_smoothing = 0;
  /// If not 0: the weight of the divergence between the two passes of a repeated batch
  /// (ops::PairedCrossEntropyRowsArguments).
  double r_drop = 0;
  /// For batches with links. With a weight of 0, links do not affect the loss.
  GuidedAlignmentConfig guided_alignment{.weight = 0};
};

/// Returns the share to distribute over all `vocabulary` pieces that is equivalent to a recipe's label smoothing of
/// either kind. Error{kBadInput} if the vocabulary is too small for the share.
double uniform_smoothing(const TrainConfig& recipe, std::int64_t vocabulary);

/// Computes the teacher-forced loss of a batch and adds its gradients to the model's. `gradient_scale` is 1 / (target
/// tokens of the whole update). Dropout is on. Runs one Context::step(). Waits for the device.
ops::LossSums accumulate_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                                   const LossOptions& options, double gradient_scale, DropoutKey dropout);
/// As accumulate_gradients(), but without waiting: the sums are left in `losses`, in the memory of the device.
/// `progress`, if not empty, is notified of the backward pass unless the device replays a recorded one.
void queue_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                     const LossOptions& options, double gradient_scale, DropoutKey dropout, ops::LossRecord* losses,
                     autograd::Tape::Progress progress = {});

/// Computes the same loss without gradients and without dropout.
///
///     double perplexity(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch) {
///       const ops::LossSums sums = evaluate_loss(context, model, batch, /*label_smoothing=*/0);
///       return std::exp(sums.loss / static_cast<double>(sums.tokens));
///     }
///
/// The functions of this header are called on the thread of the context.
ops::LossSums evaluate_loss(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                            double label_smoothing);

}  // namespace dragoman::training
