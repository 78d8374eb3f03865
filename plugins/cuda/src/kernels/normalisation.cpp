#include "gemm/packed_matrix.h"
#include "kernels.h"
#include "views.h"

#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/softmax.h>

namespace dragoman::backend::cuda {
namespace {

float* partial_sums(Context& context, const Tensor& x) {
  return scratch<float>(context, 2 * device::column_parts(x.rows) * x.cols);
}

device::WordMatrix words_of(const Tensor& rounded) {
  return rounded.empty() ? device::WordMatrix{} : rounded_operand(rounded).words;
}

}  // namespace

template <>
void kernel(Context&, const ops::SoftmaxArguments& arguments) {
  device::softmax(matrix(arguments.x, "softmax"), arguments.logarithm, arguments.causal_offset,
                  matrix(arguments.y, "softmax"));
}

template <>
void kernel(Context&, const ops::SoftmaxBackwardArguments& arguments) {
  constexpr std::string_view kOp = "softmax_backward";
  device::softmax_backward(matrix(arguments.y, kOp), arguments.logarithm, matrix(arguments.dy, kOp),
                           target(arguments.dx, kOp));
}

template <>
void kernel(Context&, const ops::LayerNormArguments& arguments) {
  constexpr std::string_view kOp = "layer_norm";
  device::layer_norm({.x = matrix(arguments.x, kOp),
                      .gain = matrix(arguments.gain, kOp),
                      .bias = matrix(arguments.bias, kOp),
                      .epsilon = static_cast<float>(arguments.epsilon),
                      .y = matrix(arguments.y, kOp),
                      .mean = matrix(arguments.mean, kOp),
                      .inverse_deviation = matrix(arguments.inverse_deviation, kOp),
                      .centred = arguments.centred,
                      .words = words_of(arguments.rounded_y),
                      .type = half_of(arguments.rounded_y.dtype)});
}

template <>
void kernel(Context& context, const ops::LayerNormBackwardArguments& arguments) {
  constexpr std::string_view kOp = "layer_norm_backward";
  const tensor::ScratchScope scope(context.arena());
  device::layer_norm_backward({.x = matrix(arguments.x, kOp),
                               .gain = matrix(arguments.gain, kOp),
                               .mean = matrix(arguments.mean, kOp),
                               .inverse_deviation = matrix(arguments.inverse_deviation, kOp),
                               .dy = matrix(arguments.dy, kOp),
                               .dx = target(arguments.dx, kOp),
                               .dgain = target(arguments.dgain, kOp),
                               .dbias = target(arguments.dbias, kOp),
                               .partial = partial_sums(context, arguments.x)});
}

template <>
void kernel(Context&, const ops::ResidualLayerNormArguments& arguments) {
  constexpr std::string_view kOp = "residual_dropout_layer_norm";
  device::layer_norm({.x = matrix(arguments.x, kOp),
                      .gain = matrix(arguments.gain, kOp),
                      .bias = matrix(arguments.bias, kOp),
                      .epsilon = static_cast<float>(arguments.epsilon),
                      .y = matrix(arguments.y, kOp),
                      .mean = matrix(arguments.mean, kOp),
                      .inverse_deviation = matrix(arguments.inverse_deviation, kOp),
                      .centred = arguments.centred,
                      .words = words_of(arguments.rounded_y),
                      .type = half_of(arguments.rounded_y.dtype)},
                     {.residual = matrix(arguments.residual, kOp),
                      .dropout = dropout(arguments.rate, arguments.random),
                      .sum = matrix(arguments.sum, kOp)});
}

template <>
void kernel(Context& context, const ops::ResidualLayerNormBackwardArguments& arguments) {
  constexpr std::string_view kOp = "residual_dropout_layer_norm_backward";
  const tensor::ScratchScope scope(context.arena());
  device::layer_norm_backward({.x = matrix(arguments.sum, kOp),
                               .gain = matrix(arguments.gain, kOp),
                               .mean = matrix(arguments.mean, kOp),
                               .inverse_deviation = matrix(arguments.inverse_deviation, kOp),
                               .dy = matrix(arguments.dy, kOp),
                               .dx = target(arguments.dx, kOp),
                               .dgain = target(arguments.dgain, kOp),
                               .dbias = target(arguments.dbias, kOp),
                               .dsum = matrix(arguments.dsum, kOp),
                               .dresidual = target(arguments.dresidual, kOp),
                               .dropout = dropout(arguments.rate, arguments.random),
                               .partial = partial_sums(context, arguments.sum)});
}

}  // namespace dragoman::backend::cuda
