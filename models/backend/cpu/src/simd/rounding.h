#pragma once

#include <cstdint>

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/tensor.h>

/// Floats as what products are computed in, and back: docs/concepts/numerics.md. All on the calling thread.
namespace dragoman::backend::cpu {

/// Rows of floats to be read, `stride` apart.
struct FloatRows {
  const float* data;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t cols;
};

/// To nearest, ties to even; y has no gaps.
void round_to_bf16(const FloatRows& x, std::uint16_t* y);
/// The same as floats that bf16 holds.
void round_through_bf16(const FloatRows& x, float* y);

/// What is added to numbers so that they are bytes without a sign.
constexpr int zero_point(tensor::ComputeType type) {
  return type == tensor::ComputeType::kI8Narrow ? 64 : 128;
}
/// quantize_row() of each row, with its scale; y, without gaps, holds number + zero_point(type).
void quantize(const FloatRows& x, tensor::ComputeType type, std::uint8_t* y, float* scales);

/// quantize_row() of one row of a weight; gives its scale.
float quantize_weight_row(const float* row, std::int64_t cols, std::int8_t* numbers);

/// What makes numbers of the sums of int8 products: number[r, c] = float(sum[r, c] - zero_sums[c]) * (row_scales[r] *
/// col_scales[c]). Empty where products are floats.
struct Dequantization {
  const float* row_scales = nullptr;
  const float* col_scales = nullptr;
  const std::int32_t* zero_sums = nullptr;

  explicit operator bool() const noexcept { return row_scales != nullptr; }
  Dequantization from_row(std::int64_t row) const noexcept {
    return {row_scales == nullptr ? nullptr : row_scales + row, col_scales, zero_sums};
  }
  Dequantization from_col(std::int64_t col) const noexcept {
    if (row_scales == nullptr) return {};
    return {row_scales, col_scales + col, zero_sums + col};
  }
};

/// Row `row` of a stored matrix as floats: its own memory if it is of floats, else `buffer`, of as many as it has
/// columns.
const float* float_row(const tensor::Tensor& values, const tensor::Tensor& scales, std::int64_t row, float* buffer);

}  // namespace dragoman::backend::cpu
