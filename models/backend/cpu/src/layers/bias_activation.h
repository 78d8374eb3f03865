#pragma once

#include "simd/rounding.h"

#include <cstdint>

#include <dragoman/ops/elementwise.h>

namespace dragoman::backend::cpu {

/// The operations after a GEMM: y = activation(x + bias) over rows, with x + bias stored in `pre_activation` if that is
/// not null. y or pre_activation may be x. With a dequantization, x holds the bits of sums of int8 products, which are
/// first converted to floats.
struct BiasActivation {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  Dequantization dequantization{};
  const float* bias = nullptr;  ///< nullptr: no bias
  ops::Activation activation = ops::Activation::kNone;
  float* pre_activation = nullptr;  ///< nullptr: not needed
  std::int64_t pre_stride = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Runs on the calling thread.
void bias_activation_rows(const BiasActivation& arguments);

/// Like bias_activation_rows() with y = x. It then quantises each row by quantize() while it is in the first-level
/// cache.
void bias_activation_quantize_rows(const BiasActivation& arguments, tensor::ComputeType type, std::uint8_t* numbers,
                                   float* scales);

}  // namespace dragoman::backend::cpu
