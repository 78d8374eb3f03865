#pragma once

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y = activation(x * weight^T + bias), with x [T, K], weight [N, K], bias [1, N] or empty, and y [T, N]. If `packed`
/// is not null, it is used in place of `weight`.
///
/// A plain weight is multiplied in `type`: kF32, kBF16 or kF16. A packed weight is multiplied in its own type. Then the
/// kernel is row-stable: the bits of a row of y do not depend on the other rows or on their number.
///
/// If `pre_activation` is not empty, it receives x * weight^T + bias. If `rounded_x` is not empty, it receives x
/// rounded to `type`; see allocate_rounded(). If `x_is_rounded`, it has these values already.
struct LinearArguments {
  Tensor x;
  Tensor weight;
  const PackedWeight* packed = nullptr;
  Tensor bias;
  Activation activation = Activation::kNone;
  Tensor pre_activation;
  Tensor y;
  ComputeType type = ComputeType::kF32;
  Tensor rounded_x{};
  bool x_is_rounded = false;
};
inline constexpr KernelKey<void(Context&, const LinearArguments&)> kLinear{"linear"};

/// y = dropout(activation(x * weight^T + bias)) with a plain weight, where `linear.y` is y. The mask is drawn as in
/// DropoutArguments. The activation is kRelu or one with needs_input(). If `rounded_y` is not empty, it receives y
/// rounded to `linear.type`; see allocate_rounded_result().
struct DroppedLinearArguments {
  LinearArguments linear;
  double rate = 0;
  RandomState random;
  Tensor rounded_y{};
};
inline constexpr KernelKey<void(Context&, const DroppedLinearArguments&)> kDroppedLinear{"dropped_linear"};

/// Returns true if the gradient of the activation needs its input: GELU and swish. The others need only the output.
constexpr bool needs_input(Activation activation) {
  return activation == Activation::kGelu || activation == Activation::kGeluTanh || activation == Activation::kSwish;
}

/// The gradients of linear() with a plain weight, in one pass over dy. Let dz = dy * activation'(pre_activation).
/// kGelu, kGeluTanh and kSwish read `pre_activation`, the other activations `y`.
///
///     dx (+)= dz * weight,   dweight (+)= dz^T * x,   dbias (+)= the sum of the rows of dz
///
/// Targets with an empty value are not computed. The products are computed in `type`. `rounded_x` is the value from
/// linear(), or empty.
struct LinearBackwardArguments {
  Tensor x;
  Tensor weight;
  Activation activation = Activation::kNone;
  Tensor pre_activation;
  Tensor y;
  Tensor dy;
  GradientTarget dx;
  GradientTarget dweight;
  GradientTarget dbias;
  ComputeType type = ComputeType::kF32;
  Tensor rounded_x{};
};
inline constexpr KernelKey<void(Context&, const LinearBackwardArguments&)> kLinearBackward{"linear_backward"};

/// The gradients of DroppedLinearArguments. `linear.y` and `linear.dy` are y with dropout and its gradient. For kRelu
/// no mask is drawn again: elements of y are above zero where they were kept and the ReLU let them pass.
struct DroppedLinearBackwardArguments {
  LinearBackwardArguments linear;
  double rate = 0;
  RandomState random;
};
inline constexpr KernelKey<void(Context&, const DroppedLinearBackwardArguments&)> kDroppedLinearBackward{
    "dropped_linear_backward"};

/// Returns activation(x * weight^T + bias), fused if the device has the kernel. The products of a plain weight and of
/// its gradients are computed in the context's autograd::training_compute_type(). A gradient through a packed weight is
/// an Error{kInvalidArgument}.
///
///     Variable layer(Context& context, const Variable& x, const Variable& weight, const Variable& bias) {
///       return linear(context, x, Weight{weight}, bias, Activation::kRelu);
///     }
Variable linear(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                Activation activation = Activation::kNone);
/// Returns dropout(linear(x, weight, bias, activation), rate). It is fused if dropout applies, the weight is plain, the
/// activation is kRelu or one with needs_input(), and the device has both kernels. Results and gradients have the bits
/// of the two ops, unless the backend computes the activation of a layer without dropout in another way.
Variable dropped_linear(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                        Activation activation, double rate);
/// Returns the result of linear() for a plain weight, composed of matmul, add_row and activate.
Variable linear_composite(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                          Activation activation);

}  // namespace dragoman::ops
