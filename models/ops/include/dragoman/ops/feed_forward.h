#pragma once

#include <dragoman/ops/linear.h>

namespace dragoman::ops {

/// y = activation(x * in^T + in_bias) * out^T + out_bias: x [T, d], in [inner, d], out [d, inner], both packed in the
/// same type; biases [1, inner] and [1, d], or empty. The bits of y are those of two kLinear calls; what lies between
/// them need never be in memory as a whole.
struct FeedForwardArguments {
  Tensor x;
  const PackedWeight* in = nullptr;
  Tensor in_bias;
  Activation activation = Activation::kRelu;
  const PackedWeight* out = nullptr;
  Tensor out_bias;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const FeedForwardArguments&)> kFeedForward{"feed_forward"};

/// linear(linear(x, in, in_bias, activation), out, out_bias), fused where nothing is recorded, both weights are packed
/// and the device has the kernel.
Variable feed_forward(Context& context, const Variable& x, const Weight& in, const Variable& in_bias,
                      Activation activation, const Weight& out, const Variable& out_bias);

}  // namespace dragoman::ops
