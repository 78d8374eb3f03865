#pragma once

#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Throws Error{kInvalidArgument} naming the op unless both tensors have equal shapes.
inline void require_same_shape(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.rows != b.rows || a.cols != b.cols)  // not require(): building the description would allocate in hot loops
    core::fail(core::ErrorCode::kInvalidArgument, "{}: the operands' shapes differ: {} and {}", op, tensor::describe(a),
               tensor::describe(b));
}

/// Throws unless `row` is a vector as long as x is wide.
inline void require_row(std::string_view op, const Tensor& x, const Tensor& row, std::string_view what) {
  if (row.rows != 1 || row.cols != x.cols)
    core::fail(core::ErrorCode::kInvalidArgument, "{}: the {} must be [1, {}] but is {}", op, what, x.cols,
               tensor::describe(row));
}

/// Throws unless a plain matrix has elements of the computing type. Values that a file stores in another type must be
/// packed first.
inline void require_computable(const Tensor& matrix, tensor::DType dtype, std::string_view op) {
  if (matrix.dtype != dtype)
    core::fail(core::ErrorCode::kInvalidArgument,
               "{}: a matrix is {} where {} is computed with; weights that are stored so must be packed, by "
               "ParameterStore::prepare()",
               op, tensor::describe(matrix), tensor::name_of(dtype));
}

/// Returns the target of a gradient; its value is empty if the variable needs no gradient.
inline GradientTarget optional_target(Context& context, const Variable& variable) {
  return variable.needs_gradient() ? autograd::target_of(context, *variable.gradient) : GradientTarget{};
}

}  // namespace dragoman::ops
