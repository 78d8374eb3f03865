#include "dragoman/ops/matmul.h"

#include "check.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {

Variable matmul(Context& context, const Variable& a, const Variable& b, bool transpose_b, ComputeType type) {
  const std::int64_t inner = transpose_b ? b.value.cols : b.value.rows;
  const std::int64_t columns = transpose_b ? b.value.rows : b.value.cols;
  if (a.value.cols != inner)
    core::fail(core::ErrorCode::kInvalidArgument, "matmul: the inner sizes differ: {} times {}{}",
               tensor::describe(a.value), tensor::describe(b.value), transpose_b ? " transposed" : "");
  for (const Variable* operand : {&a, &b}) require_computable(operand->value, context.float_type(), "matmul");
  const bool record = autograd::recording(context, a, b);
  const Variable y = autograd::make_variable(context, context.allocate(a.value.rows, columns), record);
  context.kernels().get(kMatMul)(context, {a.value, false, b.value, transpose_b, y.value, false, type});
  if (record)
    autograd::record(context, y.gradient, [a, b, y, transpose_b, type](Context& ctx) {
      const Tensor& dy = y.gradient->value;
      auto* kernel = ctx.kernels().get(kMatMul);
      if (a.needs_gradient()) {
        const GradientTarget da = autograd::target_of(ctx, *a.gradient);
        kernel(ctx, {dy, false, b.value, !transpose_b, da.value, da.accumulate, type});
      }
      if (!b.needs_gradient()) return;
      const GradientTarget db = autograd::target_of(ctx, *b.gradient);
      if (transpose_b)
        kernel(ctx, {dy, true, a.value, false, db.value, db.accumulate, type});
      else
        kernel(ctx, {a.value, true, dy, false, db.value, db.accumulate, type});
    });
  return y;
}

}  // namespace dragoman::ops
