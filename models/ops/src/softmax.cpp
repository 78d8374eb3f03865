#include "dragoman/ops/softmax.h"

#include "check.h"

namespace dragoman::ops {
namespace {

Variable apply(Context& context, const Variable& x, bool logarithm, std::int64_t causal_offset) {
  const bool record = autograd::recording(context, x);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  context.kernels().get(kSoftmax)(context, {x.value, logarithm, causal_offset, y.value});
  if (record)
    autograd::record(context, y.gradient, [x, y, logarithm](Context& ctx) {
      ctx.kernels().get(kSoftmaxBackward)(
          ctx, {y.value, logarithm, y.gradient->value, autograd::target_of(ctx, *x.gradient)});
    });
  return y;
}

}  // namespace

Variable softmax(Context& context, const Variable& x, std::int64_t causal_offset) {
  return apply(context, x, false, causal_offset);
}
Variable log_softmax(Context& context, const Variable& x) {
  return apply(context, x, true, -1);
}

}  // namespace dragoman::ops
