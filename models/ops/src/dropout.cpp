#include "dragoman/ops/dropout.h"

#include "check.h"

namespace dragoman::ops {

Variable dropout(Context& context, const Variable& x, double rate) {
  if (effective_rate(context, rate) == 0) return x;
  const RandomState random = autograd::next_random(context);
  const bool record = autograd::recording(context, x);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  context.kernels().get(kDropout)(context, {x.value, rate, random, y.value, false});
  if (record)
    autograd::record(context, y.gradient, [x, y, rate, random](Context& ctx) {
      const GradientTarget target = autograd::target_of(ctx, *x.gradient);
      ctx.kernels().get(kDropout)(ctx, {y.gradient->value, rate, random, target.value, target.accumulate});
    });
  return y;
}

}  // namespace dragoman::ops
