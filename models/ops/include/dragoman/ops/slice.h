#pragma once

#include <array>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Returns the block of rows [row_begin, row_end) and columns [col_begin, col_end) of x. The forward pass is a view;
/// the backward pass adds to x's gradient.
Variable slice(Context& context, const Variable& x, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t col_begin, std::int64_t col_end);

/// One block of a matrix that assemble() builds.
struct Placed {
  Variable block;
  std::int64_t row;
  std::int64_t col;
};
/// Returns a new matrix [rows, cols] composed of blocks. Exactly one block must cover each element.
Variable assemble(Context& context, std::int64_t rows, std::int64_t cols, std::span<const Placed> blocks);

/// Splits the columns of x into `parts` equal views, for a fused projection (query, key and value from one GEMM). The
/// gradients of the parts are views of x's gradient, so nothing is copied in either direction. Therefore the split must
/// be the only consumer of x.
///
///     Variable keys_of(Context& context, const Variable& queries_keys_values) {
///       return split_columns<3>(context, queries_keys_values)[1];
///     }
template <std::size_t parts>
std::array<Variable, parts> split_columns(Context& context, const Variable& x);
extern template std::array<Variable, 2> split_columns<2>(Context&, const Variable&);
extern template std::array<Variable, 3> split_columns<3>(Context&, const Variable&);

/// Returns the sum of all elements of x * weights, [1, 1]. `weights` is a constant. It turns any op into a scalar for
/// gradient checks.
Variable weighted_sum(Context& context, const Variable& x, const Tensor& weights);

}  // namespace dragoman::ops
