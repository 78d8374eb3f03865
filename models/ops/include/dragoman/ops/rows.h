#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y[i] = x[rows[i]]; zeros where rows[i] is -1. Any element type, the same for both.
struct GatherRowsArguments {
  Tensor x;
  DeviceIndices rows;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const GatherRowsArguments&)> kGatherRows{"gather_rows"};

/// y[rows[i]] = x[i]; the rows differ from each other. Any element type, the same for both; or y is of BF16 or F16, and
/// x of the context's float type, which is rounded as docs/concepts/numerics.md says.
struct ScatterRowsArguments {
  Tensor x;
  DeviceIndices rows;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const ScatterRowsArguments&)> kScatterRows{"scatter_rows"};

/// x becomes what its elements are when they are rounded to BF16 or F16: what rows are that were scattered to that
/// type, as floats again.
struct RoundToArguments {
  Tensor x;
  tensor::DType type = tensor::DType::kBF16;
};
inline constexpr KernelKey<void(Context&, const RoundToArguments&)> kRoundTo{"round_to"};

/// The named rows of x, in step memory; no gradient. The caller guarantees that they are rows of x, or -1.
Tensor gather_rows(Context& context, const Tensor& x, const DeviceIndices& rows);
/// Replaces the named rows of y by those of x.
void scatter_rows(Context& context, const Tensor& x, const DeviceIndices& rows, const Tensor& y);
/// In place; no gradient. `type` is BF16 or F16.
void round_to(Context& context, const Tensor& x, tensor::DType type);

}  // namespace dragoman::ops
