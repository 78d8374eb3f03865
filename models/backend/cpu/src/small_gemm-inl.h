// Products of matrices so small (a sentence by a head) that calling a GEMM library costs more than the product.
// Included once per target by Highway's foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_
#undef DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_
#endif

#include "vector-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// c [m, n] (+)= factor * a [m, k] * b [k, n]. Element (i, l) of a is a[i * a_row + l * a_col], so that a may be
/// transposed. Every element of c is summed in ascending k, whatever m and n are.
struct SmallGemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float factor = 1;
  const float* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_col = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  bool accumulate = false;
};

/// kRows rows by kVectors vectors of c, held in registers.
template <int kRows, int kVectors, class Vector>
HWY_INLINE void small_gemm_tile(const SmallGemm& g, std::int64_t i, std::int64_t j, const Vector& vector) {
  const auto lanes = static_cast<std::int64_t>(float_lanes());
  Floats sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = zero();
  for (std::int64_t l = 0; l < g.k; ++l) {
    Floats b[kVectors];
    for (int v = 0; v < kVectors; ++v) b[v] = vector.load(g.b + l * g.b_stride + j + v * lanes);
    for (int r = 0; r < kRows; ++r) {
      const Floats a = set(g.a[(i + r) * g.a_row + l * g.a_col]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(a, b[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) {
      float* c = g.c + (i + r) * g.c_stride + j + v * lanes;
      const Floats product = hn::Mul(sums[r][v], set(g.factor));
      vector.store(g.accumulate ? hn::Add(vector.load(c), product) : product, c);
    }
}

/// kRows rows of c, all columns.
template <int kRows>
HWY_INLINE void small_gemm_rows(const SmallGemm& g, std::int64_t i) {
  const auto lanes = static_cast<std::int64_t>(float_lanes());
  std::int64_t j = 0;
  for (; j + 4 * lanes <= g.n; j += 4 * lanes) small_gemm_tile<kRows, 4>(g, i, j, WholeVector());
  if (j + 2 * lanes <= g.n) {
    small_gemm_tile<kRows, 2>(g, i, j, WholeVector());
    j += 2 * lanes;
  }
  if (j + lanes <= g.n) {
    small_gemm_tile<kRows, 1>(g, i, j, WholeVector());
    j += lanes;
  }
  if (j < g.n) small_gemm_tile<kRows, 1>(g, i, j, PartVector{static_cast<std::size_t>(g.n - j)});
}

HWY_INLINE void small_gemm(const SmallGemm& g) {
  std::int64_t i = 0;
  for (; i + 4 <= g.m; i += 4) small_gemm_rows<4>(g, i);
  for (; i < g.m; ++i) small_gemm_rows<1>(g, i);
}

/// Rows of floats `stride` apart.
struct Block {
  const float* data;
  std::int64_t stride;
};

/// Stores the transpose of 4 x 4 floats.
HWY_INLINE void transpose_4x4(const Block& from, float* to, std::int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d_pair;
  const auto row0 = hn::LoadU(d, from.data);
  const auto row1 = hn::LoadU(d, from.data + from.stride);
  const auto row2 = hn::LoadU(d, from.data + 2 * from.stride);
  const auto row3 = hn::LoadU(d, from.data + 3 * from.stride);
  const auto low01 = hn::BitCast(d_pair, hn::InterleaveLower(d, row0, row1));
  const auto low23 = hn::BitCast(d_pair, hn::InterleaveLower(d, row2, row3));
  const auto high01 = hn::BitCast(d_pair, hn::InterleaveUpper(d, row0, row1));
  const auto high23 = hn::BitCast(d_pair, hn::InterleaveUpper(d, row2, row3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d_pair, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d_pair, low01, low23)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d_pair, high01, high23)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d_pair, high01, high23)), d, to + 3 * to_stride);
}

/// to [cols, padded_rows] = the transpose of from [rows, cols], with zeros in what is padded.
HWY_INLINE void transpose(const Block& from, std::int64_t rows, std::int64_t cols, float* to,
                          std::int64_t padded_rows) {
  const std::int64_t whole_rows = rows / 4 * 4;
  const std::int64_t whole_cols = cols / 4 * 4;
  for (std::int64_t r = 0; r < whole_rows; r += 4)
    for (std::int64_t c = 0; c < whole_cols; c += 4)
      transpose_4x4({from.data + r * from.stride + c, from.stride}, to + c * padded_rows + r, padded_rows);
  for (std::int64_t c = 0; c < cols; ++c) {
    float* column = to + c * padded_rows;
    for (std::int64_t r = c < whole_cols ? whole_rows : 0; r < rows; ++r) column[r] = from.data[r * from.stride + c];
    std::fill(column + rows, column + padded_rows, 0.0F);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
