#pragma once

#include "access.h"

// Loads and stores of 8 and 16 bytes by one instruction. Addresses are multiples of the size.
namespace dragoman::backend::cuda::device {

struct alignas(16) FourFloats {
  float values[4];
};
struct alignas(8) TwoWords {
  std::uint32_t words[2];
};
struct alignas(16) FourWords {
  std::uint32_t words[4];
};

template <class Vector, class T>
SIMT_DEVICE Vector load(const T* from) {
  return *reinterpret_cast<const Vector*>(from);
}
template <class Vector, class T>
SIMT_DEVICE void store(T* to, const Vector& vector) {
  *reinterpret_cast<Vector*>(to) = vector;
}

/// Whether four neighbours of a row, the first in a column that is a multiple of 4, are one load.
inline bool in_fours(const Matrix& x) {
  return reinterpret_cast<std::uintptr_t>(x.data) % sizeof(FourFloats) == 0 && (x.rows <= 1 || x.stride % 4 == 0);
}
/// The values of columns [col, col + 4) of a row; `beyond` where there is no such column.
SIMT_DEVICE FourFloats four_of(const Matrix& x, bool in_fours, std::int64_t row, std::int64_t col, float beyond) {
  const float* const from = &at(x, row, col);
  if (in_fours && col + 4 <= x.cols) return load<FourFloats>(from);
  FourFloats four;
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) four.values[i] = col + i < x.cols ? from[i] : beyond;
  return four;
}

}  // namespace dragoman::backend::cuda::device
