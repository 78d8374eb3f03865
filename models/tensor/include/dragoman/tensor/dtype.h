#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::tensor {

/// Element types, named as in safetensors.
enum class DType : std::uint8_t { kF32, kF64, kF16, kBF16, kI8, kI32 };

/// The size of an element in bytes.
std::size_t size_of(DType dtype);
/// Returns the name of the type in safetensors, such as "F32".
std::string_view name_of(DType dtype);

template <class T>
inline constexpr bool kHasDType = false;
template <>
inline constexpr bool kHasDType<float> = true;
template <>
inline constexpr bool kHasDType<double> = true;
template <>
inline constexpr bool kHasDType<std::int8_t> = true;
template <>
inline constexpr bool kHasDType<std::int32_t> = true;

template <class T>
requires kHasDType<T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kI32;
}

/// Conversions of the 16-bit storage types. They round to nearest even; NaN stays NaN.
///
///     const float rounded = bf16_to_f32(f32_to_bf16(1.001F));     // 1
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);

}  // namespace dragoman::tensor
