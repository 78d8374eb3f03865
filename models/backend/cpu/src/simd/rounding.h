#pragma once

#include <cstdint>

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/tensor.h>

/// Conversions of floats to the types of products and back; see docs/concepts/numerics.md. All run on the calling
/// thread.
namespace dragoman::backend::cpu {

/// Input rows of floats, `stride` apart.
struct FloatRows {
  const float* data;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t cols;
};

/// Rounds to nearest, ties to even. y has no gaps.
void round_to_bf16(const FloatRows& x, std::uint16_t* y);
/// Like round_to_bf16(), with the results stored as floats.
void round_through_bf16(const FloatRows& x, float* y);

/// The value that is added to signed integers to make them unsigned bytes.
constexpr int zero_point(tensor::ComputeType type) {
  return type == tensor::ComputeType::kI8Narrow ? 64 : 128;
}
/// Applies quantize_row() to each row and stores its scale. y, without gaps, receives the integers plus
/// zero_point(type).
void quantize(const FloatRows& x, tensor::ComputeType type, std::uint8_t* y, float* scales);

/// Applies quantize_row() to one row of a weight and returns its scale.
float quantize_weight_row(const float* row, std::int64_t cols, std::int8_t* numbers);

/// Converts sums of int8 products to floats: value[r, c] = float(sum[r, c] - zero_sums[c]) * (row_scales[r] *
/// col_scales[c]). Empty if products are floats.
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

/// Returns row `row` of a stored matrix as floats: its own memory if it contains floats, otherwise `buffer`, which has
/// room for its columns.
const float* float_row(const tensor::Tensor& values, const tensor::Tensor& scales, std::int64_t row, float* buffer);

}  // namespace dragoman::backend::cpu
