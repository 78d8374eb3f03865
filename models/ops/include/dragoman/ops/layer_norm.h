#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y = (x - mean) / sqrt(variance + epsilon) * gain + bias for each row, with the biased variance (Ba, Kiros & Hinton
/// 2016). `gain` and `bias` are [1, cols]. If `mean` and `inverse_deviation` ([rows, 1]) are not empty, they receive
/// the statistics for the backward pass.
///
/// If `rounded_y` is not empty, it receives y rounded to its type; see allocate_rounded_result().
///
/// If `centred` is false, this is the root mean square norm (Zhang & Sennrich 2019): the mean is taken as 0, and `bias`
/// and `mean` are empty.
struct LayerNormArguments {
  Tensor x;
  Tensor gain;
  Tensor bias;
  double epsilon = 1e-5;
  Tensor y;
  Tensor mean;
  Tensor inverse_deviation;
  bool centred = true;
  Tensor rounded_y{};
};
inline constexpr KernelKey<void(Context&, const LayerNormArguments&)> kLayerNorm{"layer_norm"};

/// The gradients of layer_norm with respect to x, gain and bias. Targets with an empty value are not computed. The
/// forward pass was centred if `mean` is not empty.
struct LayerNormBackwardArguments {
  Tensor x;
  Tensor gain;
  Tensor mean;
  Tensor inverse_deviation;
  Tensor dy;
  GradientTarget dx;
  GradientTarget dgain;
  GradientTarget dbias;
};
inline constexpr KernelKey<void(Context&, const LayerNormBackwardArguments&)> kLayerNormBackward{"layer_norm_backward"};

/// Returns the layer norm of each row of x, as in LayerNormArguments. Error{kInvalidArgument} unless gain and bias are
/// [1, cols].
///
///     Variable normalised(Context& context, const Variable& x, const Variable& gain, const Variable& bias) {
///       return layer_norm(context, x, gain, bias, /*epsilon=*/1e-5);
///     }
Variable layer_norm(Context& context, const Variable& x, const Variable& gain, const Variable& bias, double epsilon);
/// y = x / sqrt(mean(x^2) + epsilon) * gain per row.
Variable rms_norm(Context& context, const Variable& x, const Variable& gain, double epsilon);

/// sum = residual + dropout(x); y = layer_norm(sum). One pass over memory instead of three. `rounded_y` is as in
/// LayerNormArguments. `sum` may be the memory of `x`.
struct ResidualLayerNormArguments {
  Tensor residual;
  Tensor x;
  double rate = 0;
  RandomState random;
  Tensor gain;
  Tensor bias;
  double epsilon = 1e-5;
  Tensor sum;
  Tensor y;
  Tensor mean;
  Tensor inverse_deviation;
  bool centred = true;
  Tensor rounded_y{};
};
inline constexpr KernelKey<void(Context&, const ResidualLayerNormArguments&)> kResidualLayerNorm{
    "residual_dropout_layer_norm"};

/// The gradients of ResidualLayerNormArguments. `dsum` may be empty; it is the gradient that flows into `sum` from its
/// other consumers. Let g = dsum + (the gradient of layer_norm at dy). Then dresidual gets g, and dx gets g through the
/// dropout mask. Targets with an empty value are not computed.
struct ResidualLayerNormBackwardArguments {
  Tensor sum;
  Tensor gain;
  Tensor mean;
  Tensor inverse_deviation;
  double rate = 0;
  RandomState random;
  Tensor dy;
  Tensor dsum;
  GradientTarget dresidual;
  GradientTarget dx;
  GradientTarget dgain;
  GradientTarget dbias;
};
inline constexpr KernelKey<void(Context&, const ResidualLayerNormBackwardArguments&)> kResidualLayerNormBackward{
    "residual_dropout_layer_norm_backward"};

/// Computes a norm again in the backward pass, because others have overwritten its result. y is empty if that is not
/// necessary.
struct NormAgain {
  LayerNormArguments arguments{};
  bool empty() const noexcept { return arguments.y.empty(); }
};

/// The results of a residual connection followed by a norm.
struct ResidualNorm {
  Variable sum;  ///< residual + dropout(x): the output of a pre-norm layer
  /// layer_norm(sum): the output of a post-norm layer, or the input of the next pre-norm sub-layer
  Variable normalised;
};

/// Memory for the results of a residual connection and a norm in training, so that fewer of them are kept. The results
/// have the same bits.
struct NormMemory {
  /// [rows, cols] for `normalised`, which several norms may share. Its values are valid until the next norm writes it.
  /// The caller calls record_again() with `again` after the last op that reads them. If this is empty, the norm
  /// allocates its result.
  Tensor normalised{};
  NormAgain* again = nullptr;  ///< receives what record_again() needs; required with `normalised`
  /// `sum` may overwrite x if x is spare, because the caller does not need x any more.
  bool may_overwrite_x = false;
};

/// Returns true if training on this device should use NormMemory: a tape is recorded without recomputation, and
/// products read fp32 values. Devices that round the operands of products keep the rounded ones anyway.
bool shares_norm_memory(const Context& context);
/// Records that the norm is computed again before the backward pass of the ops that were recorded since.
void record_again(Context& context, const NormAgain& again);

/// Computes ResidualNorm. Fused if the device has the kernels, otherwise composed of dropout, add and layer_norm.
/// The composed form ignores `memory`.
ResidualNorm residual_dropout_layer_norm(Context& context, const Variable& residual, const Variable& x, double rate,
                                         const Variable& gain, const Variable& bias, double epsilon,
                                         const NormMemory& memory = {});
/// The composition of dropout, add and layer_norm; the reference for tests of the fused form.
ResidualNorm residual_dropout_layer_norm_composite(Context& context, const Variable& residual, const Variable& x,
                                                   double rate, const Variable& gain, const Variable& bias,
                                                   double epsilon);

/// As the two functions above, with rms_norm.
ResidualNorm residual_dropout_rms_norm(Context& context, const Variable& residual, const Variable& x, double rate,
                                       const Variable& gain, double epsilon);
ResidualNorm residual_dropout_rms_norm_composite(Context& context, const Variable& residual, const Variable& x,
                                                 double rate, const Variable& gain, double epsilon);

}  // namespace dragoman::ops
