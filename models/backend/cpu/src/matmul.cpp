#include "gemm.h"
#include "gemm_blocks.h"
#include "kernels.h"

#include <dragoman/ops/matmul.h>

namespace dragoman::backend::cpu {
namespace {

/// Where the part of an operand begins that a block needs: `index` counts rows of C for a, columns of C for b. In a
/// plain a and a transposed b these are rows, otherwise columns.
const float* part(const Tensor& operand, std::int64_t index, bool is_row) {
  return is_row ? operand.row<float>(index) : operand.as<float>() + index;
}

}  // namespace

template <>
void kernel(Context& context, const ops::MatMulArguments& arguments) {
  const std::int64_t m = arguments.c.rows;
  const std::int64_t n = arguments.c.cols;
  const std::int64_t k = arguments.transpose_a ? arguments.a.rows : arguments.a.cols;
  for_each_gemm_block(context.executor(), m, n, k, [&](const Tile& tile) {
    gemm({.m = tile.row_end - tile.row_begin,
          .n = tile.col_end - tile.col_begin,
          .k = k,
          .a = part(arguments.a, tile.row_begin, !arguments.transpose_a),
          .a_stride = arguments.a.stride,
          .transpose_a = arguments.transpose_a,
          .b = part(arguments.b, tile.col_begin, arguments.transpose_b),
          .b_stride = arguments.b.stride,
          .transpose_b = arguments.transpose_b,
          .c = arguments.c.row<float>(tile.row_begin) + tile.col_begin,
          .c_stride = arguments.c.stride,
          .accumulate = arguments.accumulate});
  });
}

}  // namespace dragoman::backend::cpu
