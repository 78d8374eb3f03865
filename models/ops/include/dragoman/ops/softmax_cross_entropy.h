#pragma once

#include <span>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// The target of rows that only fill a batch up, so that its shapes are those of another.
inline constexpr std::int32_t kNoTarget = -1;

/// Works on rows of logits in place: stores losses[r] and nlls[r] (both F64, [1, rows]), and, if there is a
/// `gradient_scale`, overwrites the logits with gradient_scale * d(loss)/d(logits) = gradient_scale * (softmax - target
/// distribution). With smoothing s the target distribution is (1 - s) on the target plus s / V everywhere (Szegedy et
/// al. 2016, sec. 7; PyTorch's label_smoothing): loss = (1 - s) * nll + s * mean over the vocabulary of -log p.
/// A row without a target (kNoTarget) does not count: its losses and its gradient are zeros.
struct CrossEntropyRowsArguments {
  Tensor logits;
  DeviceIndices targets;
  double label_smoothing = 0;
  DeviceArray<double> gradient_scale;  ///< one number, or empty
  Tensor losses;
  Tensor nlls;
};
inline constexpr KernelKey<void(Context&, const CrossEntropyRowsArguments&)> kCrossEntropyRows{"cross_entropy_rows"};

/// The loss of rows of hidden states under a projection to the vocabulary, and its gradients, in chunks of rows that
/// the backend chooses: logits = hidden * weight^T + bias, and `losses` and `nlls` as CrossEntropyRowsArguments has
/// them. With a `gradient_scale`, and dlogits as described there:
///
///     dhidden = dlogits * weight,   dweight (+)= dlogits^T * hidden,   dbias (+)= the sum of the rows of dlogits
///
/// An empty target is not computed. A packed weight has no gradients. Plain products are computed in `type`.
struct ProjectionLossArguments {
  Tensor hidden{};
  Tensor weight{};
  const PackedWeight* packed = nullptr;
  Tensor bias{};
  DeviceIndices targets{};
  double label_smoothing = 0;
  DeviceArray<double> gradient_scale{};  ///< one number, or empty
  Tensor losses{};
  Tensor nlls{};
  Tensor dhidden{};
  GradientTarget dweight{};
  GradientTarget dbias{};
  ComputeType type = ComputeType::kF32;
  std::int64_t chunk_rows = 0;  ///< the rows of a chunk; 0: the backend's choice
};
/// Optional. Without it the ops below compose the loss of kLinear, kCrossEntropyRows, kMatMul and kColumnSum.
inline constexpr KernelKey<void(Context&, const ProjectionLossArguments&)> kProjectionLoss{"projection_loss"};

struct CrossEntropyOptions {
  double label_smoothing = 0;
  /// What the summed loss is multiplied by before it is differentiated: 1 / (number of target tokens) gives the mean.
  double gradient_scale = 1;
};

/// Sums over rows, and how many of them have a target.
struct LossSums : LossRecord {
  std::int64_t tokens = 0;
};

/// Losses of every row, F64 [1, T] in step memory.
struct RowLosses {
  Tensor losses;
  Tensor nlls;
};

/// The loss of hidden [T, d] under a projection to the vocabulary. It ends the graph: with a tape set it computes the
/// gradients of projection weight and bias at once and records the one of `hidden`; Tape::backward() then does the
/// rest. Rows go through in chunks, so logits [T, V] never exist. `gradient_scale` is one number, needed with a tape:
/// Error{kInvalidArgument} without it.
RowLosses cross_entropy_rows(Context& context, const Variable& hidden, const Projection& projection,
                             const Indices& targets, double label_smoothing, const DeviceArray<double>& gradient_scale);

/// `record` becomes the sums over the rows of a batch, added up in double precision in an order that is a function of
/// the shape alone, on the host that of the rows:
///   alignment = sum(alignment_losses) / passes;  loss = sum(losses) + alignment_weight * alignment
/// Of empty tensors the sum is 0.
struct SumLossesArguments {
  Tensor losses{};            ///< F64 [1, T]
  Tensor nlls{};              ///< F64 [1, T]
  Tensor alignment_losses{};  ///< F64 [1, T]
  double alignment_weight = 0;
  double passes = 1;
  LossRecord* record = nullptr;
};
inline constexpr KernelKey<void(Context&, const SumLossesArguments&)> kSumLosses{"sum_losses"};

void sum_losses(Context& context, const SumLossesArguments& arguments);
/// The sums of rows with these targets. Waits for the device.
LossSums sum_of(Context& context, const RowLosses& rows, std::span<const std::int32_t> targets);
/// How many rows have a target.
std::int64_t count_targets(std::span<const std::int32_t> targets);
/// Both, where the step is not to be recorded.
LossSums softmax_cross_entropy(Context& context, const Variable& hidden, const Projection& projection,
                               const Indices& targets, const CrossEntropyOptions& options);

/// Negative natural-logarithm probability of each target, without gradients: F64 [1, T] in step memory.
Tensor target_nlls(Context& context, const Tensor& hidden, const Projection& projection, const Indices& targets);
/// The same on the host and with the other sign: result[t] = log p(targets[t]). Waits for the device.
void target_log_probabilities(Context& context, const Tensor& hidden, const Projection& projection,
                              const Indices& targets, std::span<double> result);

}  // namespace dragoman::ops
