#include "gemm.h"
#include "gemm_blocks.h"
#include "kernels.h"

#include <algorithm>

namespace dragoman::backend::cpu {
namespace {

/// The product over no elements.
void clear(const Tensor& c) {
  for (std::int64_t r = 0; r < c.rows; ++r) std::fill_n(c.row<float>(r), c.cols, 0.0F);
}

/// Rows [begin, end) of c need those rows of op(a), which are columns of a if it is transposed.
const float* rows_of_a(const ops::MatMulArguments& arguments, std::int64_t begin) {
  return arguments.transpose_a ? arguments.a.as<float>() + begin : arguments.a.row<float>(begin);
}

}  // namespace

void matmul(Context& context, const ops::MatMulArguments& arguments) {
  const std::int64_t m = arguments.c.rows;
  const std::int64_t n = arguments.c.cols;
  const std::int64_t k = arguments.transpose_a ? arguments.a.rows : arguments.a.cols;
  if (m == 0 || n == 0 || (k == 0 && arguments.accumulate)) return;
  if (k == 0) return clear(arguments.c);
  core::for_each_range(context.executor(), m, gemm_block_rows(m, n, k), [&](std::int64_t begin, std::int64_t end) {
    gemm({.m = end - begin,
          .n = n,
          .k = k,
          .a = rows_of_a(arguments, begin),
          .a_stride = arguments.a.stride,
          .transpose_a = arguments.transpose_a,
          .b = arguments.b.as<float>(),
          .b_stride = arguments.b.stride,
          .transpose_b = arguments.transpose_b,
          .c = arguments.c.row<float>(begin),
          .c_stride = arguments.c.stride,
          .accumulate = arguments.accumulate});
  });
}

}  // namespace dragoman::backend::cpu
