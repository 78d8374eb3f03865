#include "rounding.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/tensor/int8.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/rounding.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
using Ints = hn::Vec<IntTag>;

/// Returns the upper halves of the rounded floats.
HWY_INLINE Ints bf16_bits(Floats value) {
  const IntTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(du, 0x7FFF), odd)));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
  return hn::BitCast(d, hn::IfThenElse(is_nan, quiet, rounded));
}

/// Stores the lanes of a vector as narrower integers.
template <class Narrow>
HWY_INLINE void store_narrow(Ints values, Narrow* to, WholeVector) {
  const hn::Rebind<Narrow, IntTag> d;
  hn::StoreU(hn::DemoteTo(d, values), d, to);
}
template <class Narrow>
HWY_INLINE void store_narrow(Ints values, Narrow* to, PartVector part) {
  const hn::Rebind<Narrow, IntTag> d;
  HWY_ALIGN Narrow buffer[hn::MaxLanes(IntTag())];
  hn::StoreU(hn::DemoteTo(d, values), d, buffer);
  std::copy_n(buffer, part.count, to);
}

void round_row_to_bf16(const float* x, std::size_t cols, std::uint16_t* y) {
  for_each_vector(
      cols, [&](std::size_t i, auto vector) HWY_ATTR { store_narrow(bf16_bits(vector.load(x + i)), y + i, vector); });
}

void round_row_through_bf16(const float* x, std::size_t cols, float* y) {
  for_each_vector(cols, [&](std::size_t i, auto vector) HWY_ATTR {
    vector.store(hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bf16_bits(vector.load(x + i)))), y + i);
  });
}

/// Returns the bits of the largest magnitude. Magnitudes compare like their bits, and values that are not finite are
/// above all others.
std::int32_t largest_bits(const float* x, std::size_t cols) {
  const IntTag d;
  const Ints magnitude = hn::Set(d, 0x7FFFFFFF);
  Ints largest = hn::Zero(d);
  for_each_vector(cols, [&](std::size_t i, auto vector) HWY_ATTR {
    largest = hn::Max(largest, hn::And(hn::BitCast(d, vector.load(x + i)), magnitude));
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

void quantize_row_by(const float* x, std::size_t cols, float factor, std::int32_t zero, std::uint8_t* y) {
  const Floats factors = set(factor);
  const Ints zeros = hn::Set(IntTag(), zero);
  for_each_vector(cols, [&](std::size_t i, auto vector) HWY_ATTR {
    store_narrow(hn::Add(hn::NearestInt(hn::Mul(vector.load(x + i), factors)), zeros), y + i, vector);
  });
}

void quantize_rows(const FloatRows& x, float range, std::int32_t zero, std::uint8_t* y, float* scales) {
  constexpr std::int32_t kInfinity = 0x7F800000;
  const auto cols = static_cast<std::size_t>(x.cols);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float* row = x.data + r * x.stride;
    std::uint8_t* numbers = y + r * x.cols;
    const std::int32_t bits = largest_bits(row, cols);
    const auto largest = std::bit_cast<float>(bits);
    if (bits >= kInfinity || largest < tensor::kLeastMaximum) {
      std::fill_n(numbers, cols, static_cast<std::uint8_t>(zero));
      scales[r] = bits >= kInfinity ? std::numeric_limits<float>::quiet_NaN() : 0;
      continue;
    }
    quantize_row_by(row, cols, range / largest, zero, numbers);
    scales[r] = largest / range;
  }
}

/// Converts fp16 to floats.
void widen_halves(const std::uint16_t* x, std::size_t count, float* y) {
  const hn::Rebind<hwy::float16_t, FloatTag> d_half;
  const std::size_t lanes = float_lanes();
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(hn::PromoteTo(FloatTag(), hn::LoadU(d_half, reinterpret_cast<const hwy::float16_t*>(x + i))), y + i);
  for (; i < count; ++i) y[i] = tensor::f16_to_f32(x[i]);
}

/// Converts integers with their scale to floats.
void widen_numbers(const std::int8_t* x, float scale, std::size_t count, float* y) {
  const IntTag d;
  const hn::Rebind<std::int8_t, IntTag> d_narrow;
  const std::size_t lanes = float_lanes();
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(hn::Mul(hn::ConvertTo(FloatTag(), hn::PromoteTo(d, hn::LoadU(d_narrow, x + i))), set(scale)), y + i);
  for (; i < count; ++i) y[i] = static_cast<float>(x[i]) * scale;
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(round_row_to_bf16);
HWY_EXPORT(round_row_through_bf16);
HWY_EXPORT(quantize_rows);
HWY_EXPORT(widen_halves);
HWY_EXPORT(widen_numbers);

void round_to_bf16(const FloatRows& x, std::uint16_t* y) {
  for (std::int64_t r = 0; r < x.rows; ++r) HWY_DYNAMIC_DISPATCH(round_row_to_bf16)
  (x.data + r * x.stride, static_cast<std::size_t>(x.cols), y + r * x.cols);
}

void round_through_bf16(const FloatRows& x, float* y) {
  for (std::int64_t r = 0; r < x.rows; ++r) HWY_DYNAMIC_DISPATCH(round_row_through_bf16)
  (x.data + r * x.stride, static_cast<std::size_t>(x.cols), y + r * x.cols);
}

void quantize(const FloatRows& x, tensor::ComputeType type, std::uint8_t* y, float* scales) {
  HWY_DYNAMIC_DISPATCH(quantize_rows)
  (x, static_cast<float>(tensor::activation_range(type)), zero_point(type), y, scales);
}

float quantize_weight_row(const float* row, std::int64_t cols, std::int8_t* numbers) {
  constexpr std::uint8_t kZero = 0x80;
  float scale = 0;
  auto* bytes = reinterpret_cast<std::uint8_t*>(numbers);
  HWY_DYNAMIC_DISPATCH(quantize_rows)
  ({row, cols, 1, cols}, static_cast<float>(tensor::kWeightRange), kZero, bytes, &scale);
  for (std::int64_t i = 0; i < cols; ++i) bytes[i] ^= kZero;
  return scale;
}

const float* float_row(const tensor::Tensor& values, const tensor::Tensor& scales, std::int64_t row, float* buffer) {
  const auto cols = static_cast<std::size_t>(values.cols);
  switch (values.dtype) {
    case tensor::DType::kF32:
      return values.row<float>(row);
    case tensor::DType::kF16:
      HWY_DYNAMIC_DISPATCH(widen_halves)(values.row<std::uint16_t>(row), cols, buffer);
      return buffer;
    case tensor::DType::kBF16: {
      const auto* bits = values.row<std::uint16_t>(row);
      std::transform(bits, bits + cols, buffer, tensor::bf16_to_f32);
      return buffer;
    }
    case tensor::DType::kF64: {
      const auto* wide = values.row<double>(row);
      std::transform(wide, wide + cols, buffer, [](double value) { return static_cast<float>(value); });
      return buffer;
    }
    case tensor::DType::kI8: {
      if (scales.empty()) break;
      HWY_DYNAMIC_DISPATCH(widen_numbers)
      (values.row<std::int8_t>(row), scales.as<float>()[row], cols, buffer);
      return buffer;
    }
    default:
      break;
  }
  core::fail(core::ErrorCode::kUnsupported, "the cpu backend cannot compute with the matrix {}",
             tensor::describe(values));
}

}  // namespace dragoman::backend::cpu
#endif
