#include "dragoman/ops/elementwise.h"

#include "check.h"

namespace dragoman::ops {

void accumulate_gradient(Context& context, const Variable& to, const Tensor& from) {
  if (!to.needs_gradient()) return;
  const GradientTarget target = autograd::target_of(context, *to.gradient);
  context.kernels().get(kScale)(context, {from, 1.0, target.value, target.accumulate});
}

Variable add(Context& context, const Variable& a, const Variable& b) {
  require_same_shape("add", a.value, b.value);
  const bool record = autograd::recording(context, a, b);
  const Variable y = autograd::make_variable(context, context.allocate(a.value.rows, a.value.cols), record);
  context.kernels().get(kAdd)(context, {a.value, b.value, y.value});
  if (record)
    autograd::record(context, y.gradient, [a, b, y](Context& ctx) {
      accumulate_gradient(ctx, a, y.gradient->value);
      accumulate_gradient(ctx, b, y.gradient->value);
    });
  return y;
}

Variable multiply(Context& context, const Variable& a, const Variable& b) {
  require_same_shape("multiply", a.value, b.value);
  const bool record = autograd::recording(context, a, b);
  const Variable y = autograd::make_variable(context, context.allocate(a.value.rows, a.value.cols), record);
  context.kernels().get(kMultiply)(context, {a.value, b.value, y.value, false});
  if (record)
    autograd::record(context, y.gradient, [a, b, y](Context& ctx) {
      const auto propagate = [&](const Variable& to, const Tensor& other) {
        if (!to.needs_gradient()) return;
        const GradientTarget target = autograd::target_of(ctx, *to.gradient);
        ctx.kernels().get(kMultiply)(ctx, {y.gradient->value, other, target.value, target.accumulate});
      };
      propagate(a, b.value);
      propagate(b, a.value);
    });
  return y;
}

Variable scale(Context& context, const Variable& x, double factor) {
  const bool record = autograd::recording(context, x);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  context.kernels().get(kScale)(context, {x.value, factor, y.value, false});
  if (record)
    autograd::record(context, y.gradient, [x, y, factor](Context& ctx) {
      const GradientTarget target = autograd::target_of(ctx, *x.gradient);
      ctx.kernels().get(kScale)(ctx, {y.gradient->value, factor, target.value, target.accumulate});
    });
  return y;
}

Variable add_row(Context& context, const Variable& x, const Variable& row) {
  require_row("add_row", x.value, row.value, "row");
  const bool record = autograd::recording(context, x, row);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  context.kernels().get(kAddRow)(context, {x.value, row.value, y.value});
  if (record)
    autograd::record(context, y.gradient, [x, row, y](Context& ctx) {
      accumulate_gradient(ctx, x, y.gradient->value);
      if (!row.needs_gradient()) return;
      const GradientTarget target = autograd::target_of(ctx, *row.gradient);
      ctx.kernels().get(kColumnSum)(ctx, {y.gradient->value, target.value, target.accumulate});
    });
  return y;
}

Variable activate(Context& context, const Variable& x, Activation activation) {
  if (activation == Activation::kNone) return x;
  const bool record = autograd::recording(context, x);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  context.kernels().get(kActivation)(context, {x.value, activation, y.value});
  if (record)
    autograd::record(context, y.gradient, [x, y, activation](Context& ctx) {
      const GradientTarget target = autograd::target_of(ctx, *x.gradient);
      ctx.kernels().get(kActivationBackward)(
          ctx, {x.value, y.value, activation, y.gradient->value, target.value, target.accumulate});
    });
  return y;
}

}  // namespace dragoman::ops
