#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Row-wise softmax, or log-softmax if `logarithm`. If causal_offset >= 0, row i sees only the columns 0 .. i +
/// causal_offset, and the others get 0. This must not be combined with `logarithm`.
struct SoftmaxArguments {
  Tensor x;
  bool logarithm = false;
  std::int64_t causal_offset = -1;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const SoftmaxArguments&)> kSoftmax{"softmax"};

/// softmax: dx = y * (dy - sum(dy * y)); log-softmax: dx = dy - exp(y) * sum(dy).
struct SoftmaxBackwardArguments {
  Tensor y;
  bool logarithm = false;
  Tensor dy;
  GradientTarget dx;
};
inline constexpr KernelKey<void(Context&, const SoftmaxBackwardArguments&)> kSoftmaxBackward{"softmax_backward"};

/// Returns the softmax of each row of x. For `causal_offset` see SoftmaxArguments.
///
///     Variable weights(Context& context, const Variable& scores) {
///       return softmax(context, scores);
///     }
Variable softmax(Context& context, const Variable& x, std::int64_t causal_offset = -1);
/// Returns the logarithm of the softmax of each row of x.
Variable log_softmax(Context& context, const Variable& x);

}  // namespace dragoman::ops
