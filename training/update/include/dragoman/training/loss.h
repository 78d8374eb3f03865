#pragma once

#include <cstdint>

#include <dragoman/autograd/tape.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// Where the random draws of one batch come from.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< differs for every batch of a run
};

/// What a batch's loss is.
struct LossOptions {
  LossOptions(double smoothing = 0) : label_smoothing(smoothing) {}  // NOLINT(google-explicit-constructor): the usual
  /// Spread over the vocabulary, the target among it (ops::CrossEntropyRowsArguments).
  double label_smoothing = 0;
  /// Not 0: the weight of the divergence between the two passes of a batch that was repeated
  /// (ops::PairedCrossEntropyRowsArguments).
  double r_drop = 0;
  /// Of batches that have links. With a weight of 0 these are nothing to the loss.
  GuidedAlignmentConfig guided_alignment{.weight = 0};
};

/// The share that is to be spread over all `vocabulary` pieces for a recipe's label smoothing, whatever its kind.
/// Error{kBadInput} if so few pieces cannot have so much.
double uniform_smoothing(const TrainConfig& recipe, std::int64_t vocabulary);

/// The teacher-forced loss of a batch, and its gradients added to the model's; `gradient_scale` is 1 / (target tokens
/// of the whole update). Dropout is on. Runs one Context::step(). Waits for the device.
ops::LossSums accumulate_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                                   const LossOptions& options, double gradient_scale, DropoutKey dropout);
/// The same without waiting: the sums are left in `losses`, in the device's memory. `progress`, if given, hears of the
/// backward pass unless the device repeats a recorded one.
void queue_gradients(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                     const LossOptions& options, double gradient_scale, DropoutKey dropout, ops::LossRecord* losses,
                     autograd::Tape::Progress progress = {});

/// The same loss without gradients and without dropout.
ops::LossSums evaluate_loss(tensor::Context& context, const nn::Seq2SeqModel& model, const Batch& batch,
                            double label_smoothing);

}  // namespace dragoman::training
