#include "dragoman/ops/slice.h"

#include "check.h"
#include "dragoman/ops/elementwise.h"
#include "dragoman/ops/matmul.h"

#include <memory>

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

void fill_zero(Context& context, const Tensor& x) {
  context.kernels().get(kScale)(context, {x, 0.0, x, false});
}

/// Views the same values as one column.
Tensor as_column(const Tensor& contiguous) {
  Tensor column = contiguous;
  column.rows = contiguous.size();
  column.cols = 1;
  column.stride = 1;
  return column;
}

}  // namespace

Variable slice(Context& context, const Variable& x, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t col_begin, std::int64_t col_end) {
  const bool record = autograd::recording(context, x);
  const Tensor view = x.value.row_range(row_begin, row_end).col_range(col_begin, col_end);
  const Variable y = autograd::make_variable(context, view, record);
  if (record)
    autograd::record(context, y.gradient, [=](Context& ctx) {
      const GradientTarget dx = autograd::target_of(ctx, *x.gradient);
      if (!dx.accumulate) fill_zero(ctx, dx.value);
      const Tensor block = dx.value.row_range(row_begin, row_end).col_range(col_begin, col_end);
      ctx.kernels().get(kScale)(ctx, {y.gradient->value, 1.0, block, true});
    });
  return y;
}

Variable assemble(Context& context, std::int64_t rows, std::int64_t cols, std::span<const Placed> blocks) {
  bool record = false;
  for (const Placed& placed : blocks) record = autograd::recording(context, placed.block) || record;
  const Variable y = autograd::make_variable(context, context.allocate(rows, cols), record);
  const auto place = [](const Tensor& whole, const Placed& placed) {
    return whole.row_range(placed.row, placed.row + placed.block.value.rows)
        .col_range(placed.col, placed.col + placed.block.value.cols);
  };
  for (const Placed& placed : blocks)
    context.kernels().get(kScale)(context, {placed.block.value, 1.0, place(y.value, placed), false});
  if (!record) return y;
  auto* placed = static_cast<Placed*>(context.host_arena().allocate(blocks.size_bytes()));
  std::uninitialized_copy(blocks.begin(), blocks.end(), placed);
  autograd::record(context, y.gradient, [placed, count = blocks.size(), y, place](Context& ctx) {
    for (std::size_t i = count; i-- > 0;)
      accumulate_gradient(ctx, placed[i].block, place(y.gradient->value, placed[i]));
  });
  return y;
}

template <std::size_t parts>
std::array<Variable, parts> split_columns(Context& context, const Variable& x) {
  if (x.value.cols % parts != 0)
    core::fail(core::ErrorCode::kInvalidArgument, "split_columns: {} does not divide into {} parts",
               tensor::describe(x.value), parts);
  const std::int64_t width = x.value.cols / static_cast<std::int64_t>(parts);
  const bool record = autograd::recording(context, x);
  std::array<Variable, parts> result;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto begin = static_cast<std::int64_t>(i) * width;
    result[i] = autograd::make_variable(context, x.value.col_range(begin, begin + width), record);
    if (!record) continue;
    result[i].gradient->whole = x.gradient;
    result[i].gradient->first_column = begin;
  }
  if (record)
    autograd::record(context, nullptr, [x, result](Context& ctx) {
      bool any = false;
      for (const Variable& part : result) any = any || part.gradient->written;
      if (!any) return;
      core::require(!x.gradient->written, core::ErrorCode::kInternal,
                    "split_columns must be the only consumer of its operand");
      for (const Variable& part : result)
        if (!part.gradient->written) fill_zero(ctx, autograd::target_of(ctx, *part.gradient).value);
      x.gradient->written = true;
    });
  return result;
}

template std::array<Variable, 2> split_columns<2>(Context&, const Variable&);
template std::array<Variable, 3> split_columns<3>(Context&, const Variable&);

Variable weighted_sum(Context& context, const Variable& x, const Tensor& weights) {
  require_same_shape("weighted_sum", x.value, weights);
  core::require(weights.contiguous(), core::ErrorCode::kInvalidArgument,
                "weighted_sum: the weights are not contiguous");
  const bool record = autograd::recording(context, x);
  const Tensor products = context.allocate(x.value.rows, x.value.cols);
  const Tensor columns = context.allocate(1, x.value.cols);
  context.kernels().get(kMultiply)(context, {x.value, weights, products, false});
  context.kernels().get(kColumnSum)(context, {products, columns, false});
  const Tensor column = as_column(columns);
  const Variable y = autograd::make_variable(context, context.allocate(1, 1), record);
  context.kernels().get(kColumnSum)(context, {column, y.value, false});
  if (record)
    autograd::record(context, y.gradient, [x, weights, y](Context& ctx) {
      const GradientTarget dx = autograd::target_of(ctx, *x.gradient);
      const Tensor product = ctx.allocate(dx.value.rows, dx.value.cols);
      ctx.kernels().get(kMatMul)(ctx, {as_column(weights), false, y.gradient->value, false, as_column(product), false});
      ctx.kernels().get(kScale)(ctx, {product, 1.0, dx.value, dx.accumulate});
    });
  return y;
}

}  // namespace dragoman::ops
