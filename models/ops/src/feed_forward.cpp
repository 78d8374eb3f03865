#include "dragoman/ops/feed_forward.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

bool can_be_fused(const Context& context, const Weight& in, const Weight& out) {
  return autograd::tape_of(context) == nullptr && in.packed != nullptr && out.packed != nullptr &&
         in.packed->type() == out.packed->type() && context.kernels().find(kFeedForward) != nullptr;
}

}  // namespace

Variable feed_forward(Context& context, const Variable& x, const Weight& in, const Variable& in_bias,
                      Activation activation, const Weight& out, const Variable& out_bias) {
  if (!can_be_fused(context, in, out))
    return linear(context, linear(context, x, in, in_bias, activation), out, out_bias);
  if (x.value.cols != in.packed->cols() || in.packed->rows() != out.packed->cols())
    core::fail(core::ErrorCode::kInvalidArgument, "feed_forward: {} does not go through weights [{}, {}] and [{}, {}]",
               tensor::describe(x.value), in.packed->rows(), in.packed->cols(), out.packed->rows(), out.packed->cols());
  if (!in_bias.empty()) tensor::require_shape(in_bias.value, 1, in.packed->rows(), "feed_forward: the inner bias");
  if (!out_bias.empty()) tensor::require_shape(out_bias.value, 1, out.packed->rows(), "feed_forward: the outer bias");
  const Tensor y = context.allocate(x.value.rows, out.packed->rows());
  context.kernels().get(kFeedForward)(context,
                                      {x.value, in.packed, in_bias.value, activation, out.packed, out_bias.value, y});
  return {y, nullptr};
}

}  // namespace dragoman::ops
