#pragma once

#include <array>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// The block rows [row_begin, row_end) x columns [col_begin, col_end) of x: a view forward; backward adds into x's
/// gradient.
Variable slice(Context& context, const Variable& x, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t col_begin, std::int64_t col_end);

/// A new matrix [rows, cols] put together from blocks; every element is covered by exactly one block.
struct Placed {
  Variable block;
  std::int64_t row;
  std::int64_t col;
};
Variable assemble(Context& context, std::int64_t rows, std::int64_t cols, std::span<const Placed> blocks);

/// Splits the columns of x into `parts` equal views, for a fused projection (query, key and value from one GEMM). The
/// parts' gradients are views of x's gradient, so nothing is copied either way; therefore the split must be the only
/// consumer of x.
template <std::size_t parts>
std::array<Variable, parts> split_columns(Context& context, const Variable& x);
extern template std::array<Variable, 2> split_columns<2>(Context&, const Variable&);
extern template std::array<Variable, 3> split_columns<3>(Context&, const Variable&);

/// The sum over all elements of x * weights, [1, 1]; `weights` is a constant. Turns any op into a scalar for gradient
/// checks.
Variable weighted_sum(Context& context, const Variable& x, const Tensor& weights);

}  // namespace dragoman::ops
