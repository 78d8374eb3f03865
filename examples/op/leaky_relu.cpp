#include "leaky_relu.h"

#include <dragoman/autograd/tape.h>

namespace example {

Variable leaky_relu(Context& context, const Variable& x, double slope) {
  namespace autograd = dragoman::autograd;
  const bool record = autograd::recording(context, x);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  context.kernels().get(kLeakyRelu)(context, {x.value, y.value, slope});
  if (record)
    autograd::record(context, y.gradient, [=](Context& ctx) {
      ctx.kernels().get(kLeakyReluBackward)(ctx,
                                            {x.value, y.gradient->value, autograd::target_of(ctx, *x.gradient), slope});
    });
  return y;
}

}  // namespace example
