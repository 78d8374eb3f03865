#include "matmul.h"

#include "dot_matmul.h"
#include "gemm.h"
#include "gemm_blocks.h"
#include "kernels.h"
#include "simd/rounding.h"

#include <dragoman/core/error.h>

namespace dragoman::backend::cpu {
namespace {

/// A stored matrix; `transposed` means that the product uses its transpose.
struct Operand {
  const float* data;
  std::int64_t stride;
  bool transposed;

  /// Returns the start of the part that a block needs. `index` counts rows of C for a, and columns of C for b. These
  /// are rows in a plain a and in a transposed b, otherwise columns.
  const float* part(std::int64_t index, bool is_row) const { return data + (is_row ? index * stride : index); }
};

void multiply_operands(Context& context, const Operand& a, const Operand& b, const ops::MatMulArguments& arguments,
                       core::FunctionRef<void(const Tile& tile)> finish) {
  const Tensor& c = arguments.c;
  const std::int64_t k = arguments.transpose_a ? arguments.a.rows : arguments.a.cols;
  for_each_gemm_block(context.executor(), c.rows, c.cols, k, [&](const Tile& tile) {
    gemm(GemmArguments{.m = tile.row_end - tile.row_begin,
                       .n = tile.col_end - tile.col_begin,
                       .k = k,
                       .a = a.part(tile.row_begin, !a.transposed),
                       .a_stride = a.stride,
                       .transpose_a = a.transposed,
                       .b = b.part(tile.col_begin, b.transposed),
                       .b_stride = b.stride,
                       .transpose_b = b.transposed,
                       .c = c.row<float>(tile.row_begin) + tile.col_begin,
                       .c_stride = c.stride,
                       .accumulate = arguments.accumulate});
    finish(tile);
  });
}

/// Returns the matrix in scratch memory, row after row, rounded to bf16.
Operand rounded(Context& context, const Tensor& matrix, bool transposed) {
  auto* data = static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(matrix.size()) * sizeof(float)));
  core::for_each_range(context.executor(), matrix.rows, rows_per_block(matrix.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         round_through_bf16({matrix.row<float>(begin), matrix.stride, end - begin, matrix.cols},
                                            data + begin * matrix.cols);
                       });
  return {data, matrix.cols, transposed};
}

/// Without fast bf16 products, values rounded to bf16 are multiplied as floats, which gives the same exact products.
void multiply_rounded(Context& context, const ops::MatMulArguments& arguments,
                      core::FunctionRef<void(const Tile& tile)> finish) {
  const tensor::ScratchScope scratch(context.arena());
  const Operand a = rounded(context, arguments.a, arguments.transpose_a);
  const Operand b = rounded(context, arguments.b, arguments.transpose_b);
  multiply_operands(context, a, b, arguments, finish);
}

void multiply_pairs(Context& context, const ops::MatMulArguments& arguments,
                    core::FunctionRef<void(const Tile& tile)> finish) {
  using Order = DotFactor::Order;
  const auto& [a, transpose_a, b, transpose_b, c, accumulate, type] = arguments;
  const std::int64_t k = transpose_a ? a.rows : a.cols;
  const tensor::ScratchScope scratch(context.arena());
  const DotFactor left(context, transpose_a ? Order::kLeftColumns : Order::kLeftLines, c.rows, k);
  const DotFactor right(context, Order::kRight, c.cols, k);
  const DotPacking packings[] = {{left, a, !transpose_a}, {right, b, transpose_b}};
  pack(context, packings);
  const DotProduct product(left, right, c, accumulate);
  context.executor().for_each(product.tiles(), [&](std::int64_t number) {
    const Tile tile = product.tile(number);
    product.multiply(tile);
    finish(tile);
  });
}

Operand as_it_is(const Tensor& matrix, bool transposed) {
  return {matrix.as<float>(), matrix.stride, transposed};
}

}  // namespace

void multiply(Context& context, const ops::MatMulArguments& arguments,
              core::FunctionRef<void(const Tile& tile)> finish) {
  switch (arguments.type) {
    case tensor::ComputeType::kF32:
      return multiply_operands(context, as_it_is(arguments.a, arguments.transpose_a),
                               as_it_is(arguments.b, arguments.transpose_b), arguments, finish);
    case tensor::ComputeType::kBF16:
      return has_fast_bf16() ? multiply_pairs(context, arguments, finish)
                             : multiply_rounded(context, arguments, finish);
    default:
      core::fail(core::ErrorCode::kUnsupported, "matmul: plain matrices are not multiplied in {}",
                 tensor::name_of(arguments.type));
  }
}

template <>
void kernel(Context& context, const ops::MatMulArguments& arguments) {
  multiply(context, arguments, [](const Tile&) {});
}

}  // namespace dragoman::backend::cpu
