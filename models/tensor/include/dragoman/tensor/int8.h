#pragma once

#include <cstdint>
#include <span>

#include <dragoman/tensor/compute_type.h>

namespace dragoman::tensor {

// int8, element by element: the definition that docs/concepts/numerics.md explains. Weights are quantised with it;
// kernels quantise activations in the same way, faster.

/// Weights are rounded to [-kWeightRange, kWeightRange].
inline constexpr int kWeightRange = 127;
/// Activations to [-range, range].
constexpr int activation_range(ComputeType type) {
  return type == ComputeType::kI8Narrow ? 63 : 127;
}
/// Rows whose largest magnitude is below this count as zero: 127 divided by it is finite.
inline constexpr float kLeastMaximum = 0x1p-100F;
/// The most inputs of a product whose sum of bytes (from 0 to 255) times bytes (from -128 to 127) fits into 32 bits.
inline constexpr std::int64_t kMaxInt8Inputs = 65'000;

/// The largest magnitude of a row; NaN if the row holds a value that is not finite.
float largest_magnitude(std::span<const float> row);

/// Rounds a row to [-range, range] by its largest magnitude m: value * (range / m), to nearest even. Returns the scale
/// m / range, by which the numbers are to be multiplied; 0, with numbers 0, if m < kLeastMaximum; NaN, with numbers 0,
/// if the row holds a value that is not finite.
float quantize_row(std::span<const float> row, int range, std::span<std::int8_t> numbers);

}  // namespace dragoman::tensor
