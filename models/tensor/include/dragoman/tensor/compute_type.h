#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dragoman::tensor {

/// What weights are multiplied in. docs/numerics.md defines each to the bit, or to a bound where the order of summation
/// is free. What lies between products is in the context's float type.
enum class ComputeType : std::uint8_t {
  kF32,
  kBF16,      ///< both sides rounded to bf16; sums in fp32
  kI8,        ///< both sides rounded to 8 bits, with a scale per row; exact sums
  kI8Narrow,  ///< activations have 7 bits: where the sum of two products of bytes is cut to 16 bits
};

constexpr bool is_int8(ComputeType type) {
  return type == ComputeType::kI8 || type == ComputeType::kI8Narrow;
}

/// "fp32", "bf16", "int8", "int8 (7-bit activations)".
std::string_view name_of(ComputeType type);

/// What a user asks for; a backend says what that is on this machine: Backend::compute_type().
enum class Compute : std::uint8_t { kF32, kBF16, kI8, kAuto };

/// "fp32", "bf16", "int8", "auto".
std::string_view name_of(Compute compute);
/// Nothing for another name.
std::optional<Compute> find_compute(std::string_view name);

}  // namespace dragoman::tensor
