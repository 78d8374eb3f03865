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

namespace {

device::Epilogue epilogue_of(const ops::LinearArguments& arguments, std::string_view op) {
  return {.bias = matrix(arguments.bias, op),
          .activation = arguments.activation,
          .pre_activation = matrix(arguments.pre_activation, op)};
}

void multiply_by_plain(Context& context, const ops::LinearArguments& arguments, const device::Epilogue& epilogue,
                       std::string_view op) {
  const auto& [x, weight, packed, bias, activation, pre_activation, y, type, rounded_x, x_is_rounded] = arguments;
  const tensor::ScratchScope scope(context.arena());
  multiply_plain(context, {.type = type,
                           .a = x_is_rounded ? rounded_operand(rounded_x) : operand(context, x, type, op, rounded_x),
                           .b = operand(context, weight, type, op),
                           .transpose_b = true,
                           .c = matrix(y, op),
                           .epilogue = epilogue});
}

/// Both products take dz as one pass leaves it.
void go_back(Context& context, const ops::LinearBackwardArguments& arguments, const device::Dropout& dropout,
             std::string_view op) {
  const auto& [x, weight, activation, pre_activation, y, dy, dx, dweight, dbias, type, rounded_x] = arguments;
  const tensor::ScratchScope scope(context.arena());
  device::Differentiation pass{.dy = matrix(dy, op),
                               .activation = activation,
                               .known = matrix(ops::needs_input(activation) ? pre_activation : y, op),
                               .dropout = dropout,
                               .type = half_of(type),
                               .sums = target(dbias, op),
                               .partial = scratch<float>(context, 2 * device::column_parts(dy.rows) * dy.cols)};
  const bool multiplies = !dx.value.empty() || !dweight.value.empty();
  if (multiplies && type != ComputeType::kF32)
    pass.words = scratch_words(context, dy.rows, dy.cols);
  else if (multiplies && activation != ops::Activation::kNone)
    pass.dz = matrix(context.arena().allocate(dy.rows, dy.cols, dy.dtype, dy.device), op);
  if (pass.words.data != nullptr || pass.dz.data != nullptr || !dbias.value.empty()) device::differentiate(pass);
  const Operand dz{.floats = pass.dz.data != nullptr ? pass.dz : pass.dy, .words = pass.words};
  if (!dx.value.empty())
    multiply_plain(context, {.type = type,
                             .a = dz,
                             .b = operand(context, weight, type, op),
                             .c = matrix(dx.value, op),
                             .epilogue = {.accumulate = dx.accumulate}});
  if (!dweight.value.empty())
    multiply_plain(context, {.type = type,
                             .a = dz,
                             .transpose_a = true,
                             .b = rounded_x.empty() ? operand(context, x, type, op) : rounded_operand(rounded_x),
                             .c = matrix(dweight.value, op),
                             .epilogue = {.accumulate = dweight.accumulate}});
}

}  // namespace

template <>
void kernel(Context& context, const ops::LinearArguments& arguments) {
  constexpr std::string_view kOp = "linear";
  const device::Epilogue epilogue = epilogue_of(arguments, kOp);
  if (arguments.packed != nullptr)
    packed_of(*arguments.packed, kOp).multiply(context, matrix(arguments.x, kOp), matrix(arguments.y, kOp), epilogue);
  else
    multiply_by_plain(context, arguments, epilogue, kOp);
}

template <>
void kernel(Context& context, const ops::DroppedLinearArguments& arguments) {
  constexpr std::string_view kOp = "dropped_linear";
  device::Epilogue epilogue = epilogue_of(arguments.linear, kOp);
  epilogue.dropout = dropout(arguments.rate, arguments.random);
  if (!arguments.rounded_y.empty()) epilogue.words = rounded_operand(arguments.rounded_y).words;
  epilogue.type = half_of(arguments.linear.type);
  multiply_by_plain(context, arguments.linear, epilogue, kOp);
}

template <>
void kernel(Context& context, const ops::LinearBackwardArguments& arguments) {
  go_back(context, arguments, {}, "linear_backward");
}

template <>
void kernel(Context& context, const ops::DroppedLinearBackwardArguments& arguments) {
  go_back(context, arguments.linear, dropout(arguments.rate, arguments.random), "dropped_linear_backward");
}

}  // namespace dragoman::backend::cuda
