#pragma once

#include <span>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// The target of padding rows, which exist only to give a batch a certain shape.
inline constexpr std::int32_t kNoTarget = -1;

/// The cross-entropy of rows of logits, computed in place. Stores losses[r] and nlls[r] (both F64, [1, rows]). If
/// `gradient_scale` is given, gradient_scale * d(loss)/d(logits) = gradient_scale * (softmax - target distribution)
/// overwrites the logits.
///
/// With smoothing s, the target distribution is (1 - s) on the target plus s / V everywhere (Szegedy et al. 2016, sec.
/// 7; PyTorch's label_smoothing): loss = (1 - s) * nll + s * mean over the vocabulary of -log p. Rows without a target
/// (kNoTarget) have zero losses and gradients.
struct CrossEntropyRowsArguments {
  Tensor logits;
  DeviceIndices targets;
  double label_smoothing = 0;
  DeviceArray<double> gradient_scale;  ///< one value, or empty
  Tensor losses;
  Tensor nlls;
};
inline constexpr KernelKey<void(Context&, const CrossEntropyRowsArguments&)> kCrossEntropyRows{"cross_entropy_rows"};

/// The loss of hidden states under a projection to the vocabulary, and its gradients, in chunks of rows that the
/// backend chooses. Logits are hidden * weight^T + bias. `losses` and `nlls` are defined as in
/// CrossEntropyRowsArguments. If `gradient_scale` is given, with dlogits the gradient of the logits as described there:
///
///     dhidden = dlogits * weight,   dweight (+)= dlogits^T * hidden,   dbias (+)= the sum of the rows of dlogits
///
/// Targets with an empty value are not computed. A packed weight has no gradients. Products of plain weights are
/// computed in `type`.
struct ProjectionLossArguments {
  Tensor hidden{};
  Tensor weight{};
  const PackedWeight* packed = nullptr;
  Tensor bias{};
  DeviceIndices targets{};
  double label_smoothing = 0;
  DeviceArray<double> gradient_scale{};  ///< one value, or empty
  Tensor losses{};
  Tensor nlls{};
  Tensor dhidden{};
  GradientTarget dweight{};
  GradientTarget dbias{};
  ComputeType type = ComputeType::kF32;
  std::int64_t chunk_rows = 0;  ///< the rows of a chunk; 0: the backend's choice
};
/// Optional. Without it the ops below compute the loss with kLinear, kCrossEntropyRows, kMatMul and kColumnSum.
inline constexpr KernelKey<void(Context&, const ProjectionLossArguments&)> kProjectionLoss{"projection_loss"};

struct CrossEntropyOptions {
  double label_smoothing = 0;
  /// The factor of the summed loss for the gradient. 1 / (number of target tokens) gives the mean.
  double gradient_scale = 1;
};

/// Sums over rows, and the number of rows with a target.
struct LossSums : LossRecord {
  std::int64_t tokens = 0;
};

/// The losses of every row, F64 [1, T] in step memory.
struct RowLosses {
  Tensor losses;
  Tensor nlls;
};

/// Computes the loss of hidden [T, d] under a projection to the vocabulary. It ends the graph: with a tape, it computes
/// the gradients of the projection's weight and bias immediately, and records the gradient of `hidden`.
/// Tape::backward() does the rest. Rows are processed in chunks, so logits [T, V] never exist. `gradient_scale` is one
/// value. With a tape it is required: Error{kInvalidArgument} without it.
RowLosses cross_entropy_rows(Context& context, const Variable& hidden, const Projection& projection,
                             const Indices& targets, double label_smoothing, const DeviceArray<double>& gradient_scale);

/// `record` receives the sums over the rows of a batch, added up in double precision. The order depends on the shape
/// alone; on the host it is the order of the rows.
///   alignment = sum(alignment_losses) / passes;  loss = sum(losses) + alignment_weight * alignment
/// The sum of an empty tensor is 0.
struct SumLossesArguments {
  Tensor losses{};            ///< F64 [1, T]
  Tensor nlls{};              ///< F64 [1, T]
  Tensor alignment_losses{};  ///< F64 [1, T]
  double alignment_weight = 0;
  double passes = 1;
  LossRecord* record = nullptr;
};
inline constexpr KernelKey<void(Context&, const SumLossesArguments&)> kSumLosses{"sum_losses"};

/// Sums the losses on the device. Error{kInvalidArgument} for tensors of inconsistent sizes.
void sum_losses(Context& context, const SumLossesArguments& arguments);
/// Returns the sums over rows with these targets. Waits for the device.
LossSums sum_of(Context& context, const RowLosses& rows, std::span<const std::int32_t> targets);
/// Returns the number of rows that have a target.
std::int64_t count_targets(std::span<const std::int32_t> targets);
/// Calls cross_entropy_rows() and sum_of(), for steps that are not recorded.
///
///     double mean_loss(Context& context, const Variable& hidden, const Projection& output, const Indices& targets) {
///       const LossSums sums = softmax_cross_entropy(context, hidden, output, targets, {.label_smoothing = 0.1});
///       return sums.loss / static_cast<double>(sums.tokens);
///     }
LossSums softmax_cross_entropy(Context& context, const Variable& hidden, const Projection& projection,
                               const Indices& targets, const CrossEntropyOptions& options);

/// Returns the negative natural-logarithm probability of each target, without gradients: F64 [1, T] in step memory.
Tensor target_nlls(Context& context, const Tensor& hidden, const Projection& projection, const Indices& targets);
/// Stores log p(targets[t]) in result[t] on the host. Waits for the device.
void target_log_probabilities(Context& context, const Tensor& hidden, const Projection& projection,
                              const Indices& targets, std::span<double> result);

}  // namespace dragoman::ops
