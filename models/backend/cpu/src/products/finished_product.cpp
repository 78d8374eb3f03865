#include "finished_product.h"

#include <algorithm>

namespace dragoman::backend::cpu {
namespace {

BiasActivation rows_of(const BiasActivation& finish, std::int64_t first, std::int64_t count) {
  BiasActivation part = finish;
  part.rows = count;
  part.y += first * part.y_stride;
  if (part.pre_activation != nullptr) part.pre_activation += first * part.pre_stride;
  return part;
}

void finish_rows(const BiasActivation& finish, std::int64_t first, std::int64_t count, const ProductRows& product) {
  BiasActivation part = rows_of(finish, first, count);
  part.x = product.data;
  part.x_stride = product.stride;
  part.dequantization = product.dequantization;
  bias_activation_rows(part);
}

/// Returns true if the kernel of the panel does most of the finish.
bool finishes(const Panel& panel, const BiasActivation& finish) {
  return panel.matrix.finishes() && finish.pre_activation == nullptr;
}

/// Multiplies with a kernel that adds the bias and knows ReLU. Other activations follow.
void multiply_finished(const Panel& panel, const std::uint8_t* x, const float* scales, const BiasActivation& finish) {
  const bool relu = finish.activation == ops::Activation::kRelu;
  panel.matrix.multiply_and_finish(x, finish.rows,
                                   {.dequantization = dequantization_of(panel, scales),
                                    .bias = finish.bias,
                                    .relu = relu,
                                    .y = finish.y,
                                    .y_stride = finish.y_stride});
  if (relu || finish.activation == ops::Activation::kNone) return;
  bias_activation_rows({.x = finish.y,
                        .x_stride = finish.y_stride,
                        .activation = finish.activation,
                        .y = finish.y,
                        .y_stride = finish.y_stride,
                        .rows = finish.rows,
                        .cols = finish.cols});
}

}  // namespace

void multiply_and_finish(const Panel& panel, const FloatRows& x, const BiasActivation& finish, float* scratch) {
  if (!finishes(panel, finish))
    return multiply_rows(panel, x, {finish.y, finish.y_stride}, scratch,
                         [&](std::int64_t first, std::int64_t count, const ProductRows& product) {
                           finish_rows(finish, first, count, product);
                         });
  const std::int64_t most = panel.matrix.row_buckets().back();
  auto* numbers = reinterpret_cast<std::uint8_t*>(scratch);
  float* scales = scratch + multiply_scratch(panel) - most;
  for (std::int64_t first = 0; first < x.rows; first += most) {
    const std::int64_t count = std::min(most, x.rows - first);
    quantize({x.data + first * x.stride, x.stride, count, x.cols}, panel.type, numbers, scales);
    multiply_finished(panel, numbers, scales, rows_of(finish, first, count));
  }
}

void multiply_and_finish(const Panel& panel, std::uint8_t* x, const float* scales, const BiasActivation& finish,
                         float* scratch) {
  if (finishes(panel, finish)) return multiply_finished(panel, x, scales, finish);
  multiply_numbers(panel, x, scales, finish.rows, {finish.y, finish.y_stride}, scratch,
                   [&](std::int64_t first, std::int64_t count, const ProductRows& product) {
                     finish_rows(finish, first, count, product);
                   });
}

}  // namespace dragoman::backend::cpu
