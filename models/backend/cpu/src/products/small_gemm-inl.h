// Products of matrices so small (a sentence by a head) that calling a GEMM library costs more than the product.
// Included once per target by Highway's foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_
#undef DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_SMALL_GEMM_INL_H_
#endif

#include "simd/vector-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// c [m, n] (+)= factor * a [m, k] * b [k, n]. Element (i, l) of a is a[i * a_row + l * a_col], so a may be transposed.
/// Every element of c is summed in ascending k, for any m and n.
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

/// Computes a tile of c, kRows rows by kVectors vectors, in registers.
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

/// The rows of a tile. With two vectors each they need 16 of AVX-512's 32 registers, or 8 of 16. That is enough
/// multiplications in flight to hide their latency.
inline constexpr int kTileRows = hn::MaxLanes(FloatTag()) >= 16 ? 8 : 4;

/// Computes the last `rest` < kRows + 1 rows of a column of tiles.
template <int kRows, int kVectors, class Vector>
HWY_INLINE void small_gemm_rest(const SmallGemm& g, std::int64_t i, std::int64_t j, std::int64_t rest,
                                const Vector& vector) {
  if constexpr (kRows > 0) {
    if (rest == kRows)
      small_gemm_tile<kRows, kVectors>(g, i, j, vector);
    else
      small_gemm_rest<kRows - 1, kVectors>(g, i, j, rest, vector);
  }
}

/// Computes all rows of kVectors vectors of columns, starting at column j.
template <int kVectors, class Vector>
HWY_INLINE void small_gemm_cols(const SmallGemm& g, std::int64_t j, const Vector& vector) {
  std::int64_t i = 0;
  for (; i + kTileRows <= g.m; i += kTileRows) small_gemm_tile<kTileRows, kVectors>(g, i, j, vector);
  small_gemm_rest<kTileRows - 1, kVectors>(g, i, j, g.m - i, vector);
}

HWY_INLINE void small_gemm(const SmallGemm& g) {
  const auto lanes = static_cast<std::int64_t>(float_lanes());
  std::int64_t j = 0;
  for (; j + 2 * lanes <= g.n; j += 2 * lanes) small_gemm_cols<2>(g, j, WholeVector());
  for (; j + lanes <= g.n; j += lanes) small_gemm_cols<1>(g, j, WholeVector());
  if (j < g.n) small_gemm_cols<1>(g, j, PartVector{static_cast<std::size_t>(g.n - j)});
}

/// Four rows to be transposed.
struct FourRows {
  const float* row[4];
};

/// Stores the transpose of the 4 x 4 floats that begin at column `col` of the rows.
HWY_INLINE void transpose_4x4(const FourRows& from, std::int64_t col, float* to, std::int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d_pair;
  const auto row0 = hn::LoadU(d, from.row[0] + col);
  const auto row1 = hn::LoadU(d, from.row[1] + col);
  const auto row2 = hn::LoadU(d, from.row[2] + col);
  const auto row3 = hn::LoadU(d, from.row[3] + col);
  const auto low01 = hn::BitCast(d_pair, hn::InterleaveLower(d, row0, row1));
  const auto low23 = hn::BitCast(d_pair, hn::InterleaveLower(d, row2, row3));
  const auto high01 = hn::BitCast(d_pair, hn::InterleaveUpper(d, row0, row1));
  const auto high23 = hn::BitCast(d_pair, hn::InterleaveUpper(d, row2, row3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d_pair, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d_pair, low01, low23)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d_pair, high01, high23)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d_pair, high01, high23)), d, to + 3 * to_stride);
}

/// to [cols, padded_rows] = the transpose of from [rows, cols], whose rows are `stride` apart. padded_rows is a
/// multiple of 4. The padding repeats the last row, which costs nothing and cannot introduce values that are not
/// finite.
HWY_INLINE void transpose(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t cols, float* to,
                          std::int64_t padded_rows) {
  if (rows == 0) return;
  for (std::int64_t r = 0; r < padded_rows; r += 4) {
    FourRows four;
    for (std::int64_t i = 0; i < 4; ++i) four.row[i] = from + std::min(r + i, rows - 1) * stride;
    std::int64_t c = 0;
    for (; c + 4 <= cols; c += 4) transpose_4x4(four, c, to + c * padded_rows + r, padded_rows);
    for (; c < cols; ++c)
      for (std::int64_t i = 0; i < 4; ++i) to[c * padded_rows + r + i] = four.row[i][c];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
