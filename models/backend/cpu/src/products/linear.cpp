#include <algorithm>

#include "finished_product.h"
#include "kernels.h"
#include "matmul.h"
#include "training/dropout_mask.h"

#include <dragoman/ops/linear.h>

namespace dragoman::backend::cpu {
namespace {

/// Rows of x that one block multiplies with one panel of a packed weight.
constexpr std::int64_t kPackedRows = 256;

/// The operations after the product, for a tile of y; without the product.
BiasActivation finish_of(const ops::LinearArguments& arguments, const Tile& tile) {
  const Tensor& pre = arguments.pre_activation;
  return {.bias = arguments.bias.empty() ? nullptr : arguments.bias.as<float>() + tile.col_begin,
          .activation = arguments.activation,
          .pre_activation = pre.empty() ? nullptr : pre.row<float>(tile.row_begin) + tile.col_begin,
          .pre_stride = pre.stride,
          .y = arguments.y.row<float>(tile.row_begin) + tile.col_begin,
          .y_stride = arguments.y.stride,
          .rows = tile.row_end - tile.row_begin,
          .cols = tile.col_end - tile.col_begin};
}

/// Computes a tile of y from `product`, the tile of x * weight^T. `product` may be the tile of y itself.
void finish(const ops::LinearArguments& arguments, const Tile& tile, const ProductRows& product) {
  BiasActivation finish = finish_of(arguments, tile);
  finish.x = product.data;
  finish.x_stride = product.stride;
  finish.dequantization = product.dequantization;
  bias_activation_rows(finish);
}

/// Returns the start of a tile of y.
ProductRows place_in(const Tensor& y, const Tile& tile) {
  return {y.row<float>(tile.row_begin) + tile.col_begin, y.stride};
}

/// Calls then(tile) for each part of y as soon as it is complete.
template <class Then>
void linear_plain(Context& context, const ops::LinearArguments& arguments, const Then& then) {
  multiply(context,
           {.a = arguments.x, .b = arguments.weight, .transpose_b = true, .c = arguments.y, .type = arguments.type},
           [&](const Tile& tile) {
             finish(arguments, tile, place_in(arguments.y, tile));
             then(tile);
           });
}

/// Multiplies few rows on all threads together. Returns false if the default method should be used.
bool linear_shared(Context& context, const ops::LinearArguments& arguments, const Panel& panel) {
  if (arguments.y.rows > kMaxSharedRows || context.executor().threads() == 1) return false;
  const tensor::ScratchScope scratch_scope(context.arena());
  auto* scratch =
      static_cast<float*>(context.arena().allocate(multiply_scratch(panel, arguments.y.rows) * sizeof(float)));
  const FloatRows x{arguments.x.as<float>(), arguments.x.stride, arguments.x.rows, arguments.x.cols};
  return multiply_rows_shared(context.executor(), panel, x, scratch,
                              [&](const Tile& tile, const ProductRows& product) { finish(arguments, tile, product); });
}

void linear_packed(Context& context, const ops::LinearArguments& arguments) {
  const std::span<const Panel> panels = panels_of(*arguments.packed).panels();
  if (panels.size() == 1 && linear_shared(context, arguments, panels.front())) return;
  const std::int64_t rows = arguments.y.rows;
  const std::int64_t row_blocks = (rows + kPackedRows - 1) / kPackedRows;
  const tensor::ScratchScope scratch_scope(context.arena());
  std::size_t scratch_size = 0;
  for (const Panel& panel : panels) scratch_size = std::max(scratch_size, multiply_scratch(panel));
  const auto blocks = row_blocks * static_cast<std::int64_t>(panels.size());
  auto* scratch =
      static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(blocks) * scratch_size * sizeof(float)));
  context.executor().for_each(blocks, [&](std::int64_t block) {
    const std::int64_t number = block / row_blocks;
    const Panel& panel = panels[static_cast<std::size_t>(number)];
    const std::int64_t row = block % row_blocks * kPackedRows;
    const std::int64_t col = number * panels.front().matrix.outputs();
    const Tile all{row, std::min(rows, row + kPackedRows), col, col + panel.matrix.outputs()};
    const FloatRows x{arguments.x.row<float>(row), arguments.x.stride, all.row_end - row, arguments.x.cols};
    multiply_and_finish(panel, x, finish_of(arguments, all), scratch + static_cast<std::size_t>(block) * scratch_size);
  });
}

}  // namespace

template <>
void kernel(Context& context, const ops::LinearArguments& arguments) {
  if (arguments.y.size() == 0) return;
  if (arguments.packed != nullptr)
    linear_packed(context, arguments);
  else
    linear_plain(context, arguments, [](const Tile&) {});
}

template <>
void kernel(Context& context, const ops::DroppedLinearArguments& arguments) {
  const Tensor& y = arguments.linear.y;
  if (y.size() == 0) return;
  const ops::DropoutArguments dropout{y, arguments.rate, arguments.random, y};
  const DropoutMask mask(arguments.rate, arguments.random);
  linear_plain(context, arguments.linear, [&](const Tile& tile) { drop_tile(dropout, mask, tile); });
}

}  // namespace dragoman::backend::cpu
