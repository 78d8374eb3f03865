#pragma once

#include <memory>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// c = op(a) * op(b), or c += ... if `accumulate`, where op transposes on request. op(a) is [M, K], op(b) is [K, N] and
/// c is [M, N]. Row strides are honoured. `type` is kF32, kBF16 or kF16; the latter two round the elements of both
/// operands. A kernel's result must not depend on the executor's thread count.
struct MatMulArguments {
  Tensor a;
  bool transpose_a = false;
  Tensor b;
  bool transpose_b = false;
  Tensor c;
  bool accumulate = false;
  ComputeType type = ComputeType::kF32;
};
inline constexpr KernelKey<void(Context&, const MatMulArguments&)> kMatMul{"matmul"};

/// Packs a weight [N, K] for `linear` and `project_top_k`.
inline constexpr KernelKey<std::unique_ptr<PackedWeight>(Context&, const StoredMatrix&, ComputeType)> kPackWeight{
    "pack_weight"};

/// Returns a [M, K] times b [K, N]; if transpose_b, b is [N, K]. The products of the gradients are computed in the same
/// type. Error{kInvalidArgument} for shapes that do not match.
///
///     Variable scores(Context& context, const Variable& queries, const Variable& keys) {
///       return matmul(context, queries, keys, /*transpose_b=*/true);
///     }
Variable matmul(Context& context, const Variable& a, const Variable& b, bool transpose_b = false,
                ComputeType type = ComputeType::kF32);

}  // namespace dragoman::ops
