#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y[i] = x[rows[i]]; zeros if rows[i] is -1. x and y have the same element type, which may be any.
struct GatherRowsArguments {
  Tensor x;
  DeviceIndices rows;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const GatherRowsArguments&)> kGatherRows{"gather_rows"};

/// y[rows[i]] = x[i]; no row occurs twice. x and y have the same element type, which may be any. Alternatively, y is
/// BF16 or F16 and x has the context's float type; then x is rounded as docs/concepts/numerics.md specifies.
struct ScatterRowsArguments {
  Tensor x;
  DeviceIndices rows;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const ScatterRowsArguments&)> kScatterRows{"scatter_rows"};

/// Rounds the elements of x in place to BF16 or F16, and keeps them as floats. The result equals rows that were
/// scattered to that type and read back.
struct RoundToArguments {
  Tensor x;
  tensor::DType type = tensor::DType::kBF16;
};
inline constexpr KernelKey<void(Context&, const RoundToArguments&)> kRoundTo{"round_to"};

/// Returns the given rows of x in step memory; no gradient. The caller guarantees that each is a row of x or -1.
///
///     Tensor first_two(Context& context, const Tensor& x) {
///       return gather_rows(context, x, context.upload_copy(std::span<const std::int32_t>(std::array{0, 1})));
///     }
Tensor gather_rows(Context& context, const Tensor& x, const DeviceIndices& rows);
/// Replaces the given rows of y by the rows of x.
void scatter_rows(Context& context, const Tensor& x, const DeviceIndices& rows, const Tensor& y);
/// Rounds in place; no gradient. `type` is BF16 or F16.
void round_to(Context& context, const Tensor& x, tensor::DType type);

}  // namespace dragoman::ops
