#include "convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::formats {
namespace {

using tensor::DType;

/// Rounds to odd: unless the value is exact, to the neighbour whose last bit is odd. If the target type has at least
/// two bits less, the final rounding is then equal to a single rounding (Boldo & Melquiond 2008). Rounding to nearest
/// twice would not be.
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::isnan(value) || static_cast<double>(nearest) == value || (bits & 1U) != 0) return nearest;
  return std::bit_cast<float>(std::fabs(static_cast<double>(nearest)) < std::fabs(value) ? bits + 1 : bits - 1);
}

struct Float64 {
  using Stored = double;
  static double decode(double value) { return value; }
  static double encode(double value) { return value; }
};

struct Float32 {
  using Stored = float;
  static double decode(float value) { return value; }
  static float encode(double value) { return static_cast<float>(value); }
};

struct Float16 {
  using Stored = std::uint16_t;
  static double decode(std::uint16_t bits) { return tensor::f16_to_f32(bits); }
  static std::uint16_t encode(double value) { return tensor::f32_to_f16(round_to_odd(value)); }
};

struct BFloat16 {
  using Stored = std::uint16_t;
  static double decode(std::uint16_t bits) { return tensor::bf16_to_f32(bits); }
  static std::uint16_t encode(double value) { return tensor::f32_to_bf16(round_to_odd(value)); }
};

template <class Visitor>
void visit_float_type(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kF64:
      return visitor(Float64{});
    case DType::kF32:
      return visitor(Float32{});
    case DType::kF16:
      return visitor(Float16{});
    case DType::kBF16:
      return visitor(BFloat16{});
    default:
      core::fail(core::ErrorCode::kUnsupported, "elements of type {} cannot be converted", tensor::name_of(dtype));
  }
}

template <class From, class To>
void convert_all(const std::byte* source, std::byte* destination, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    typename From::Stored stored;
    std::memcpy(&stored, source + static_cast<std::size_t>(i) * sizeof stored, sizeof stored);
    const typename To::Stored result = To::encode(From::decode(stored));
    std::memcpy(destination + static_cast<std::size_t>(i) * sizeof result, &result, sizeof result);
  }
}

void convert_part(DType from, const std::byte* source, DType to, std::byte* destination, std::int64_t count) {
  if (from == to) {
    std::memcpy(destination, source, static_cast<std::size_t>(count) * tensor::size_of(from));
    return;
  }
  visit_float_type(from, [&](auto source_type) {
    visit_float_type(to, [&](auto destination_type) {
      convert_all<decltype(source_type), decltype(destination_type)>(source, destination, count);
    });
  });
}

}  // namespace

bool is_float(DType dtype) noexcept {
  return dtype != DType::kI8 && dtype != DType::kI32;
}

void convert(DType from, const std::byte* source, DType to, std::byte* destination, std::int64_t count) {
  constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;
  for (; count > 0; count -= kAtOnce) {
    core::check_stop("converting numbers");
    const std::int64_t size = std::min(count, kAtOnce);
    convert_part(from, source, to, destination, size);
    source += static_cast<std::size_t>(size) * tensor::size_of(from);
    destination += static_cast<std::size_t>(size) * tensor::size_of(to);
  }
}

}  // namespace dragoman::formats
