#pragma once

#include "launches.h"
#include "simt.h"

namespace dragoman::backend::cuda::device {

using simt::kWarp;
using simt::Shared;

inline constexpr int kThreads = 256;  ///< threads of most blocks
inline constexpr int kWarps = kThreads / kWarp;

template <class T>
SIMT_DEVICE T& at(const View<T>& view, std::int64_t row, std::int64_t col) {
  return view.data[row * view.stride + col];
}

SIMT_DEVICE void put(const Matrix& y, std::int64_t row, std::int64_t col, float value, bool accumulate) {
  float& place = at(y, row, col);
  place = accumulate ? place + value : value;
}

constexpr std::int64_t blocks_of(std::int64_t count, std::int64_t per_block) {
  return (count + per_block - 1) / per_block;
}
constexpr std::int64_t most(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
SIMT_DEVICE std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

SIMT_DEVICE float from_bf16(std::uint16_t half) {
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float value = 0;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// Conversion of one value to 16 bits, selected by the name of the word type.
SIMT_DEVICE std::uint16_t narrow(simt::Bf16, float value) {
  return static_cast<std::uint16_t>(simt::to_word(simt::Bf16(), value, 0));
}
SIMT_DEVICE std::uint16_t narrow(simt::F16, float value) {
  return simt::to_f16(value);
}
SIMT_DEVICE float widen(simt::Bf16, std::uint16_t bits) {
  return from_bf16(bits);
}
SIMT_DEVICE float widen(simt::F16, std::uint16_t bits) {
  return simt::from_f16(bits);
}
/// Packs two 16-bit values into a word, the first in the lowest bits.
template <class Words>
SIMT_DEVICE std::uint32_t word_of(Words words, float low, float high) {
  return simt::to_word(words, low, high);
}
/// Calls function(Words()) with the word type of `type`.
template <class Function>
void with_words(Half type, const Function& function) {
  if (type == Half::kF16)
    function(simt::F16());
  else
    function(simt::Bf16());
}

struct Sum {
  template <class T>
  SIMT_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Maximum {
  template <class T>
  SIMT_DEVICE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

/// Reduces over the lanes of a warp in a fixed order. All lanes get the result.
template <class T, class Reduction>
SIMT_DEVICE T reduce_warp(T value, Reduction reduction, const simt::Site& site = simt::Site()) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2)
    value = reduction(value, simt::shuffle_xor(value, mask, simt::Site().within(site)));
  return value;
}

/// Reduces over a block of kThreads in a fixed order. All threads get the result. `cells` has kWarps elements, which
/// the block must not use otherwise.
template <class T, class Reduction>
SIMT_DEVICE T reduce_block(T value, Reduction reduction, const Shared<T>& cells,
                           const simt::Site& site = simt::Site()) {
  value = reduce_warp(value, reduction, simt::Site().within(site));
  if (simt::thread_index() % kWarp == 0) cells[simt::thread_index() / kWarp] = value;
  simt::barrier(simt::Site().within(site));
  T result = cells[0];
  for (int i = 1; i < kWarps; ++i) result = reduction(result, static_cast<T>(cells[i]));
  simt::barrier(simt::Site().within(site));
  return result;
}

/// Launches one block of kThreads for each row.
template <class Kernel>
void for_each_row(std::int64_t rows, std::size_t shared, const Kernel& kernel) {
  simt::launch({rows}, kThreads, shared, kernel);
}

}  // namespace dragoman::backend::cuda::device
