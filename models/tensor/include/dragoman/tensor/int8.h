#pragma once

#include <cstdint>
#include <span>

#include <dragoman/tensor/compute_type.h>

namespace dragoman::tensor {

// The definition of int8 quantisation, element by element; docs/concepts/numerics.md explains it. Weights are quantised
// by these functions. Kernels quantise activations by the same rule with faster code.

/// Weights are rounded to [-kWeightRange, kWeightRange].
inline constexpr int kWeightRange = 127;
/// Activations are rounded to [-range, range].
constexpr int activation_range(ComputeType type) {
  return type == ComputeType::kI8Narrow ? 63 : 127;
}
/// A row counts as zero if its largest magnitude is below this value. Above it, 127 divided by the magnitude is finite.
inline constexpr float kLeastMaximum = 0x1p-100F;
/// The largest number of inputs for which a sum of products of bytes in [0, 255] and bytes in [-128, 127] fits into 32
/// bits.
inline constexpr std::int64_t kMaxInt8Inputs = 65'000;

/// Returns the largest magnitude of a row; NaN if a value is not finite.
float largest_magnitude(std::span<const float> row);

/// Quantises a row to integers in [-range, range]: value * (range / m), rounded to nearest even, where m is the largest
/// magnitude of the row. Returns the scale m / range, which converts the integers back. If m < kLeastMaximum, the
/// integers and the scale are 0. If a value is not finite, the integers are 0 and the scale is NaN.
///
///     const std::array<float, 3> row{0.5F, -1, 0};
///     std::array<std::int8_t, 3> integers{};
///     const float scale = quantize_row(row, kWeightRange, integers);     // integers: 64, -127, 0
///
/// `numbers` has the length of `row`. Thread-safe.
float quantize_row(std::span<const float> row, int range, std::span<std::int8_t> numbers);

}  // namespace dragoman::tensor
