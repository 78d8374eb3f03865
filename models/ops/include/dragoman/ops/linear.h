#pragma once

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y = activation(x * weight^T + bias): x [T, K], weight [N, K] plain or packed (`packed` wins), bias [1, N] or empty,
/// y [T, N]. If `pre_activation` is not empty it receives x * weight^T + bias. A plain weight is multiplied in `type`,
/// kF32, kBF16 or kF16. A packed one is multiplied in its own type, and then the kernel is row-stable: the bits of a
/// row of y do not depend on the other rows or on how many there are. A `rounded_x` that is not empty receives x,
/// rounded to `type`: see allocate_rounded().
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
};
inline constexpr KernelKey<void(Context&, const LinearArguments&)> kLinear{"linear"};

/// GELU and swish need their input for the gradient; the others only their output.
constexpr bool needs_input(Activation activation) {
  return activation == Activation::kGelu || activation == Activation::kGeluTanh || activation == Activation::kSwish;
}

/// The gradients of linear() with a plain weight, in one pass over dy. With dz = dy * activation'(pre_activation), of
/// which kGelu, kGeluTanh and kSwish read `pre_activation` and the others `y`:
///
///     dx (+)= dz * weight,   dweight (+)= dz^T * x,   dbias (+)= the sum of the rows of dz
///
/// An empty target is not wanted. The products are computed in `type`. `rounded_x`: as linear() left it, or empty.
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

/// Returns activation(x * weight^T + bias), fused where the device has the kernel. A plain weight and the products of
/// its gradients are multiplied in the context's autograd::training_compute_type(). A gradient through a packed weight
/// is an Error{kInvalidArgument}.
Variable linear(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                Activation activation = Activation::kNone);
/// Returns the result of linear() for a plain weight, composed of matmul, add_row and activate.
Variable linear_composite(Context& context, const Variable& x, const Weight& weight, const Variable& bias,
                          Activation activation);

}  // namespace dragoman::ops
