#pragma once

#include "launches.h"
#include "simt.h"

namespace dragoman::backend::cuda::device {

using simt::kWarp;
using simt::Shared;

inline constexpr int kThreads = 256;  ///< of most blocks
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

/// Of bf16: to nearest, ties to even; NaN stays NaN.
SIMT_DEVICE std::uint16_t to_bf16(float value) {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}
SIMT_DEVICE float from_bf16(std::uint16_t half) {
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float value = 0;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// Numbers of 16 bits by the names of their words.
SIMT_DEVICE std::uint16_t narrow(simt::Bf16, float value) {
  return to_bf16(value);
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
/// Two of them in a word, the first in the lowest bits.
template <class Words>
SIMT_DEVICE std::uint32_t word_of(Words words, float low, float high) {
  return static_cast<std::uint32_t>(narrow(words, low)) | static_cast<std::uint32_t>(narrow(words, high)) << 16;
}
/// Calls function(Words()) with the type's words.
template <class Function>
void with_words(Half type, const Function& function) {
  if (type == Half::kF16)
    function(simt::F16());
  else
    function(simt::Bf16());
}

/// An element function in as many threads as there are elements: f(row, col).
template <class Function>
struct ForEachElement {
  std::int64_t rows;
  std::int64_t cols;
  Function function;

  SIMT_DEVICE void operator()() const {
    const std::int64_t step = simt::block_count() * simt::thread_count();
    for (std::int64_t e = simt::block_index() * simt::thread_count() + simt::thread_index(); e < rows * cols; e += step)
      function(e / cols, e % cols);
  }
};
template <class Function>
void for_each_element(std::int64_t rows, std::int64_t cols, const Function& function) {
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  const std::int64_t blocks = blocks_of(rows * cols, kThreads);
  simt::launch({blocks < kMaxBlocks ? blocks : kMaxBlocks}, kThreads, 0,
               ForEachElement<Function>{rows, cols, function});
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

/// The same in all lanes of the warp, in a fixed order.
template <class T, class Reduction>
SIMT_DEVICE T reduce_warp(T value, Reduction reduction) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value = reduction(value, simt::shuffle_xor(value, mask));
  return value;
}

/// The same in all threads of a block of kThreads, in a fixed order. `cells`: kWarps elements, which the block uses for
/// nothing else.
template <class T, class Reduction>
SIMT_DEVICE T reduce_block(T value, Reduction reduction, const Shared<T>& cells) {
  value = reduce_warp(value, reduction);
  if (simt::thread_index() % kWarp == 0) cells[simt::thread_index() / kWarp] = value;
  simt::barrier();
  T result = cells[0];
  for (int i = 1; i < kWarps; ++i) result = reduction(result, static_cast<T>(cells[i]));
  simt::barrier();
  return result;
}

/// One block of kThreads for each row.
template <class Kernel>
void for_each_row(std::int64_t rows, std::size_t shared, const Kernel& kernel) {
  simt::launch({rows}, kThreads, shared, kernel);
}

}  // namespace dragoman::backend::cuda::device
