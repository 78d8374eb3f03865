#include "gemm/packed_matrix.h"
#include "kernels.h"
#include "views.h"

#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context& context, const ops::MatMulArguments& arguments) {
  constexpr std::string_view kOp = "matmul";
  const tensor::ScratchScope scope(context.arena());
  multiply_plain(context, {.type = arguments.type,
                           .a = operand(context, arguments.a, arguments.type, kOp),
                           .transpose_a = arguments.transpose_a,
                           .b = operand(context, arguments.b, arguments.type, kOp),
                           .transpose_b = arguments.transpose_b,
                           .c = matrix(arguments.c, kOp),
                           .epilogue = {.accumulate = arguments.accumulate}});
}

template <>
void kernel(Context& context, const ops::LinearArguments& arguments) {
  constexpr std::string_view kOp = "linear";
  multiply(context, arguments.x, arguments.weight, arguments.type, arguments.packed, matrix(arguments.y, kOp),
           {.bias = matrix(arguments.bias, kOp),
            .activation = arguments.activation,
            .pre_activation = matrix(arguments.pre_activation, kOp)},
           kOp, arguments.rounded_x);
}

/// Both products take dz as one pass leaves it.
template <>
void kernel(Context& context, const ops::LinearBackwardArguments& arguments) {
  constexpr std::string_view kOp = "linear_backward";
  const auto& [x, weight, activation, pre_activation, y, dy, dx, dweight, dbias, type, rounded_x] = arguments;
  const tensor::ScratchScope scope(context.arena());
  device::Differentiation pass{.dy = matrix(dy, kOp),
                               .activation = activation,
                               .known = matrix(ops::needs_input(activation) ? pre_activation : y, kOp),
                               .type = half_of(type),
                               .sums = target(dbias, kOp),
                               .partial = scratch<float>(context, 2 * device::column_parts(dy.rows) * dy.cols)};
  const bool multiplies = !dx.value.empty() || !dweight.value.empty();
  if (multiplies && type != ComputeType::kF32)
    pass.words = scratch_words(context, dy.rows, dy.cols);
  else if (multiplies && activation != ops::Activation::kNone)
    pass.dz = matrix(context.arena().allocate(dy.rows, dy.cols, dy.dtype, dy.device), kOp);
  if (pass.words.data != nullptr || pass.dz.data != nullptr || !dbias.value.empty()) device::differentiate(pass);
  const Operand dz{.floats = pass.dz.data != nullptr ? pass.dz : pass.dy, .words = pass.words};
  if (!dx.value.empty())
    multiply_plain(context, {.type = type,
                             .a = dz,
                             .b = operand(context, weight, type, kOp),
                             .c = matrix(dx.value, kOp),
                             .epilogue = {.accumulate = dx.accumulate}});
  if (!dweight.value.empty())
    multiply_plain(context, {.type = type,
                             .a = dz,
                             .transpose_a = true,
                             .b = rounded_x.empty() ? operand(context, x, type, kOp) : rounded_operand(rounded_x),
                             .c = matrix(dweight.value, kOp),
                             .epilogue = {.accumulate = dweight.accumulate}});
}

}  // namespace dragoman::backend::cuda
