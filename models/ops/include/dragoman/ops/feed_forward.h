#pragma once

#include <dragoman/ops/linear.h>

namespace dragoman::ops {

/// y = activation(x * in^T + in_bias) * out^T + out_bias, with x [T, d], in [inner, d] and out [d, inner]. Both weights
/// are packed in the same type. The biases are [1, inner] and [1, d], or empty. The result has the bits of two kLinear
/// calls. The intermediate values need never be in memory as a whole.
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

/// Returns linear(linear(x, in, in_bias, activation), out, out_bias). It uses the fused kernel if no gradient is
/// recorded, both weights are packed and the device has the kernel.
///
///     Variable sub_layer(Context& context, const Variable& x, const Weight& in, const Weight& out) {
///       return feed_forward(context, x, in, {}, Activation::kRelu, out, {});
///     }
Variable feed_forward(Context& context, const Variable& x, const Weight& in, const Variable& in_bias,
                      Activation activation, const Weight& out, const Variable& out_bias);

}  // namespace dragoman::ops
