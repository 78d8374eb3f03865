#pragma once

#include "simd/rounding.h"

#include <cstdint>

#include <dragoman/ops/elementwise.h>

namespace dragoman::backend::cpu {

/// What follows a GEMM: y = activation(x + bias) over rows, with x + bias kept on request. y or pre_activation may be
/// x. Where there is a dequantization, x holds the bits of sums of int8 products, which it makes numbers of.
struct BiasActivation {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  Dequantization dequantization{};
  const float* bias = nullptr;  ///< nullptr: none
  ops::Activation activation = ops::Activation::kNone;
  float* pre_activation = nullptr;  ///< nullptr: not wanted
  std::int64_t pre_stride = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// On the calling thread.
void bias_activation_rows(const BiasActivation& arguments);

/// The same, y being x, and then quantize() of each row while it is in the first-level cache.
void bias_activation_quantize_rows(const BiasActivation& arguments, tensor::ComputeType type, std::uint8_t* numbers,
                                   float* scales);

}  // namespace dragoman::backend::cpu
