#include "kernels.h"
#include "views.h"

#include <dragoman/ops/elementwise.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context&, const ops::AddArguments& arguments) {
  device::add(matrix(arguments.a, "add"), matrix(arguments.b, "add"), matrix(arguments.y, "add"));
}

template <>
void kernel(Context&, const ops::AddRowArguments& arguments) {
  device::add_row(matrix(arguments.x, "add_row"), matrix(arguments.row, "add_row"), matrix(arguments.y, "add_row"));
}

template <>
void kernel(Context&, const ops::ScaleArguments& arguments) {
  device::scale(matrix(arguments.x, "scale"), static_cast<float>(arguments.factor), matrix(arguments.y, "scale"),
                arguments.accumulate);
}

template <>
void kernel(Context&, const ops::MultiplyArguments& arguments) {
  device::multiply(matrix(arguments.a, "multiply"), matrix(arguments.b, "multiply"), matrix(arguments.y, "multiply"),
                   arguments.accumulate);
}

template <>
void kernel(Context& context, const ops::ColumnSumArguments& arguments) {
  const tensor::ScratchScope scope(context.arena());
  const Tensor& x = arguments.x;
  device::column_sum(matrix(x, "column_sum"), matrix(arguments.y, "column_sum"), arguments.accumulate,
                     scratch<float>(context, device::column_parts(x.rows) * x.cols));
}

template <>
void kernel(Context&, const ops::ActivationArguments& arguments) {
  device::activation(matrix(arguments.x, "activation"), arguments.activation, matrix(arguments.y, "activation"));
}

template <>
void kernel(Context&, const ops::ActivationBackwardArguments& arguments) {
  constexpr std::string_view kOp = "activation_backward";
  device::activation_backward(matrix(arguments.x, kOp), matrix(arguments.y, kOp), arguments.activation,
                              matrix(arguments.dy, kOp), matrix(arguments.dx, kOp), arguments.accumulate);
}

template <>
void kernel(Context&, const ops::DropoutArguments& arguments) {
  device::dropout(matrix(arguments.x, "dropout"), dropout(arguments.rate, arguments.random),
                  matrix(arguments.y, "dropout"), arguments.accumulate);
}

}  // namespace dragoman::backend::cuda
