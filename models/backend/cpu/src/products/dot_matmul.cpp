#include "dot_matmul.h"

#include "gemm.h"
#include "simd/x86.h"

#include <algorithm>
#include <cstring>

#include <dragoman/core/error.h>

namespace dragoman::backend::cpu {
namespace {

constexpr std::int64_t kVectorLines = 16;
/// With two vectors of the right factor, eight lines of the left one need 16 of 32 registers. That is enough products
/// in flight to hide their latency. Measured: as fast as twelve lines, and less waste at edges.
constexpr std::int64_t kLeftWidth = 8;
constexpr std::int64_t kRightWidth = 2 * kVectorLines;
/// The gap between lines and between panels. With distances of a power of two, they would share the sets of the
/// first-level cache.
constexpr std::int64_t kGap = 32;

constexpr std::int64_t padded(std::int64_t depth) {
  return (depth + kDotRows - 1) / kDotRows * kDotRows;
}

bool uses_tiles() {
  return bf16_instructions() == Bf16Instructions::kTiles;
}

}  // namespace

DotFactor::DotFactor(tensor::Context& context, Order order, std::int64_t lines, std::int64_t depth)
    : order_(order == Order::kLeftColumns && uses_tiles() ? Order::kLeftLines : order),
      lines_(lines),
      depth_(depth),
      width_(order == Order::kRight ? kRightWidth
             : uses_tiles()         ? kVectorLines
                                    : kLeftWidth),
      panels_((lines + kRightWidth - 1) / kRightWidth * (kRightWidth / width_)) {
  std::int64_t size = 0;
  for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) size += panels_ * panels(chunk).step;
  data_ = static_cast<std::uint16_t*>(context.arena().allocate(static_cast<std::size_t>(size) * sizeof(std::uint16_t)));
}

DotFactor::Panels DotFactor::panels(std::int64_t chunk) const noexcept {
  const auto with_pairs = [this](std::int64_t pairs, std::uint16_t* data) {
    if (order_ == Order::kLeftLines && uses_tiles())
      return Panels{pairs, {data, kDotRows, kDotRows}, width_ * 2 * pairs};
    if (order_ == Order::kLeftLines) {
      const std::int64_t line = 2 * pairs + kGap;
      return Panels{pairs, {data, line, 2}, width_ * line};
    }
    return Panels{pairs, {data, 2, 2 * width_}, width_ * 2 * pairs + kGap};
  };
  // All chunks except the last are complete.
  const std::int64_t before = chunk * panels_ * with_pairs(kChunk / 2, nullptr).step;
  return with_pairs(padded(std::min(kChunk, depth_ - chunk * kChunk)) / 2, data_ + before);
}

void pack(tensor::Context& context, std::span<const DotPacking> packings) {
  const auto blocks_of = [](const DotPacking& packing) {
    const std::int64_t rows = dot_rows_per_block(packing.matrix.cols);
    return (packing.matrix.rows + rows - 1) / rows;
  };
  std::int64_t blocks = 0;
  for (const DotPacking& packing : packings) blocks += blocks_of(packing);
  context.executor().for_each(blocks, [&](std::int64_t block) {
    const DotPacking* packing = packings.data();
    for (; block >= blocks_of(*packing); ++packing) block -= blocks_of(*packing);
    const std::int64_t rows = dot_rows_per_block(packing->matrix.cols);
    packing->rows(block * rows, std::min(packing->matrix.rows, (block + 1) * rows));
  });
}

namespace {

/// The size of tiles. They are as large as the second-level cache allows for both factors. They are smaller if there
/// would be too few tiles for some threads, but not so small that reading a tile costs more than computing it.
struct TileSize {
  std::int64_t rows = 256;
  std::int64_t cols = 256;

  TileSize(std::int64_t m, std::int64_t n, std::int64_t k) {
    constexpr std::int64_t kMaxTiles = 16;
    constexpr std::int64_t kLeastProducts = 2'000'000;
    const auto halves = [&](std::int64_t size) { return size > 64; };
    while ((halves(rows) || halves(cols)) && count(m, n) < kMaxTiles &&
           std::min(rows, m) * std::min(cols, n) * k > 2 * kLeastProducts)
      (halves(rows) && (std::min(rows, m) >= std::min(cols, n) || !halves(cols)) ? rows : cols) /= 2;
  }

 private:
  std::int64_t count(std::int64_t m, std::int64_t n) const { return ((m + rows - 1) / rows) * ((n + cols - 1) / cols); }
};

}  // namespace

DotProduct::DotProduct(const DotFactor& left, const DotFactor& right, const tensor::Tensor& c, bool accumulate)
    : left_(left), right_(right), c_(c), accumulate_(accumulate) {
  const TileSize size(c.rows, c.cols, left.depth());
  tile_rows_ = size.rows;
  tile_cols_ = size.cols;
  down_ = (c.rows + tile_rows_ - 1) / tile_rows_;
  across_ = (c.cols + tile_cols_ - 1) / tile_cols_;
}

Tile DotProduct::tile(std::int64_t number) const noexcept {
  const std::int64_t row = number / across_ * tile_rows_;
  const std::int64_t col = number % across_ * tile_cols_;
  return {row, std::min(c_.rows, row + tile_rows_), col, std::min(c_.cols, col + tile_cols_)};
}

#ifdef __x86_64__

namespace {

DRAGOMAN_BF16 DRAGOMAN_INLINE __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1U << count) - 1);
}

/// Rounds two vectors of floats to bf16, `low` first.
DRAGOMAN_BF16 DRAGOMAN_INLINE __m512i rounded(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

/// Returns the pairs of two rows: for each column, the value of `low` and then the value of `high`.
DRAGOMAN_BF16 DRAGOMAN_INLINE __m512i pairs_of(__m512 low, __m512 high) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, rounded(low, high));
}

/// Stores one line of `count` values, padded to a multiple of kDotRows. Runs of kDotRows are `step` apart.
DRAGOMAN_BF16 void put_line(const float* x, std::int64_t count, std::uint16_t* to, std::int64_t step) {
  std::int64_t i = 0;
  for (; i + kDotRows <= count; i += kDotRows, to += step)
    _mm512_storeu_si512(to, rounded(_mm512_loadu_ps(x + i), _mm512_loadu_ps(x + i + 16)));
  if (i == count) return;
  const std::int64_t rest = count - i;
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(rest), x + i);
  const __m512 high = rest > 16 ? _mm512_maskz_loadu_ps(first_lanes(rest - 16), x + i + 16) : _mm512_setzero_ps();
  _mm512_storeu_si512(to, rounded(low, high));
}

/// Stores the pairs of a vector of lines, `vector` vectors after the first one, into panels that are `step` apart.
template <std::int64_t kWidth>
DRAGOMAN_BF16 DRAGOMAN_INLINE void store_pairs(__m512i pairs, std::int64_t vector, std::int64_t step,
                                               std::uint16_t* to) {
  if constexpr (kWidth == kRightWidth) {
    _mm512_storeu_si512(to + vector / 2 * step + vector % 2 * kRightWidth, pairs);
  } else {
    static_assert(2 * kWidth == kVectorLines);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * vector * step), _mm512_castsi512_si256(pairs));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (2 * vector + 1) * step), _mm512_extracti64x4_epi64(pairs, 1));
  }
}

/// Stores one pair for each of `count` lines, from the rows `low` and `high` (nullptr: zeros).
template <std::int64_t kWidth>
DRAGOMAN_BF16 void put_pairs(const float* low, const float* high, std::int64_t count, std::uint16_t* to,
                             std::int64_t step) {
  std::int64_t i = 0;
  if (high != nullptr)
    for (; i + kVectorLines <= count; i += kVectorLines)
      store_pairs<kWidth>(pairs_of(_mm512_loadu_ps(low + i), _mm512_loadu_ps(high + i)), i / kVectorLines, step, to);
  for (; i < count; i += kVectorLines) {
    const __mmask16 lanes = first_lanes(count - i);
    const __m512 one = low == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(lanes, low + i);
    const __m512 other = high == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(lanes, high + i);
    store_pairs<kWidth>(pairs_of(one, other), i / kVectorLines, step, to);
  }
}

/// Transposes: r[i] receives lane i of all vectors.
DRAGOMAN_BF16 DRAGOMAN_INLINE void transpose_16x16(__m512i (&r)[16]) {
  __m512i t[16];
  DRAGOMAN_UNROLL
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  DRAGOMAN_UNROLL
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // In each quarter q, r[4 g + c] holds column 4 q + c of the rows 4 g to 4 g + 3.
  DRAGOMAN_UNROLL
  for (int c = 0; c < 4; ++c) {
    t[c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88);           // quarters 0, 2 of rows 0-3, 4-7
    t[4 + c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xDD);       // quarters 1, 3
    t[8 + c] = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);  // of rows 8-11, 12-15
    t[12 + c] = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xDD);
  }
  DRAGOMAN_UNROLL
  for (int c = 0; c < 4; ++c) {
    r[c] = _mm512_shuffle_i32x4(t[c], t[8 + c], 0x88);
    r[8 + c] = _mm512_shuffle_i32x4(t[c], t[8 + c], 0xDD);
    r[4 + c] = _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0x88);
    r[12 + c] = _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0xDD);
  }
}

/// Packs a vector of lines of the right factor from at most 16 rows of `count` values into the panel at `to`.
DRAGOMAN_BF16 void put_vector_of_lines(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t count,
                                       std::uint16_t* to) {
  for (std::int64_t i = 0; i < count; i += 32) {
    const __mmask16 low = first_lanes(count - i);
    const __mmask16 high = first_lanes(count - i - 16);
    __m512i lines[16];
    DRAGOMAN_UNROLL
    for (int r = 0; r < 16; ++r) {
      const float* row = x + r * stride + i;
      lines[r] = r < rows ? rounded(_mm512_maskz_loadu_ps(low, row), _mm512_maskz_loadu_ps(high, row + 16))
                          : _mm512_setzero_si512();
    }
    transpose_16x16(lines);
    DRAGOMAN_UNROLL
    for (int p = 0; p < 16; ++p) _mm512_storeu_si512(to + (i / 2 + p) * 2 * kRightWidth, lines[p]);
  }
}

/// Stores a vector of columns of at most kDotRows rows as lines, padded with zeros. `cols` columns exist.
DRAGOMAN_BF16 void put_square(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                              std::uint16_t* to, std::int64_t line_stride) {
  const __mmask16 lanes = first_lanes(cols);
  __m512i lines[16];
  DRAGOMAN_UNROLL
  for (int p = 0; p < 16; ++p) {
    const float* low = x + 2 * p * stride;
    const __m512 one = 2 * p < rows ? _mm512_maskz_loadu_ps(lanes, low) : _mm512_setzero_ps();
    const __m512 other = 2 * p + 1 < rows ? _mm512_maskz_loadu_ps(lanes, low + stride) : _mm512_setzero_ps();
    lines[p] = pairs_of(one, other);
  }
  transpose_16x16(lines);
  DRAGOMAN_UNROLL
  for (int line = 0; line < 16; ++line) _mm512_storeu_si512(to + line * line_stride, lines[line]);
}

/// A block of c, with at most a panel's lines in each dimension.
struct Piece {
  float* c;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t cols;
  bool accumulate;
};

DRAGOMAN_BF16 DRAGOMAN_INLINE __m512 multiply_add(__m512i a, __m512i b, __m512 sum) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}

DRAGOMAN_BF16 void multiply_panels(std::int64_t pairs, const DotFactor::Panel& left, const std::uint16_t* right,
                                   const Piece& piece) {
  __m512 sums[kLeftWidth][2];
  DRAGOMAN_UNROLL
  for (int r = 0; r < kLeftWidth; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  const std::uint16_t* a = left.data;
  for (std::int64_t p = 0; p < pairs; ++p, a += left.pair_stride, right += 2 * kRightWidth) {
    const __m512i first = _mm512_loadu_si512(right);
    const __m512i second = _mm512_loadu_si512(right + kRightWidth);
    DRAGOMAN_UNROLL
    for (int r = 0; r < kLeftWidth; ++r) {
      std::int32_t bits = 0;
      std::memcpy(&bits, a + r * left.line_stride, sizeof bits);
      const __m512i pair = _mm512_set1_epi32(bits);
      sums[r][0] = multiply_add(pair, first, sums[r][0]);
      sums[r][1] = multiply_add(pair, second, sums[r][1]);
    }
  }
  const __mmask16 lanes[2] = {first_lanes(piece.cols), first_lanes(piece.cols - kVectorLines)};
  DRAGOMAN_UNROLL
  for (int r = 0; r < kLeftWidth; ++r) {
    if (r >= piece.rows) break;
    DRAGOMAN_UNROLL
    for (int v = 0; v < 2; ++v) {
      float* c = piece.c + r * piece.stride + v * kVectorLines;
      if (piece.accumulate) sums[r][v] = _mm512_add_ps(sums[r][v], _mm512_maskz_loadu_ps(lanes[v], c));
      _mm512_mask_storeu_ps(c, lanes[v], sums[r][v]);
    }
  }
}

}  // namespace

void DotFactor::put_lines(const float* x, std::int64_t stride, std::int64_t first, std::int64_t count) const {
  for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
    const std::int64_t begin = chunk * kChunk;
    const std::int64_t length = std::min(kChunk, depth_ - begin);
    const Panels to = panels(chunk);
    if (order_ == Order::kLeftLines) {
      const std::int64_t run = kDotRows / 2 * to.first.pair_stride;
      for (std::int64_t r = 0; r < count; ++r)
        put_line(x + r * stride + begin, length,
                 to[(first + r) / width_].data + (first + r) % width_ * to.first.line_stride, run);
      continue;
    }
    for (std::int64_t r = 0; r < count; r += kVectorLines)
      put_vector_of_lines(x + r * stride + begin, stride, std::min(kVectorLines, count - r), length,
                          to[(first + r) / kRightWidth].data + (first + r) % kRightWidth * 2);
  }
}

void DotFactor::put_depths(const float* x, std::int64_t stride, std::int64_t first, std::int64_t count) const {
  if (order_ == Order::kLeftLines) return put_columns(x, stride, first, count);
  Panels to{};
  for (std::int64_t r = 0; r < padded(count); r += 2) {
    if (r == 0 || (first + r) % kChunk == 0) to = panels((first + r) / kChunk);
    std::uint16_t* pairs = to.first.data + (first + r) % kChunk / 2 * to.first.pair_stride;
    const float* low = r < count ? x + r * stride : nullptr;
    const float* high = r + 1 < count ? low + stride : nullptr;
    if (order_ == Order::kRight)
      put_pairs<kRightWidth>(low, high, lines_, pairs, to.step);
    else
      put_pairs<kLeftWidth>(low, high, lines_, pairs, to.step);
  }
}

/// Transposes: a column of x becomes a line.
void DotFactor::put_columns(const float* x, std::int64_t stride, std::int64_t first, std::int64_t count) const {
  for (std::int64_t r = 0; r < count; r += kDotRows) {
    const Panels to = panels((first + r) / kChunk);
    const std::int64_t at = (first + r) % kChunk;
    for (std::int64_t line = 0; line < lines_; line += kVectorLines)
      put_square(x + r * stride + line, stride, std::min(kDotRows, count - r), lines_ - line,
                 to[line / kVectorLines].data + at * kVectorLines, to.first.line_stride);
  }
}

void DotProduct::multiply(const Tile& tile) const {
  if (left_.chunks() == 0 && !accumulate_)
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row)
      std::fill_n(c_.row<float>(row) + tile.col_begin, tile.width(), 0.0F);
  if (uses_tiles() && left_.chunks() > 0) return multiply_in_tiles(tile);
  for (std::int64_t chunk = 0; chunk < left_.chunks(); ++chunk) {
    const DotFactor::Panels left = left_.panels(chunk);
    const DotFactor::Panels right = right_.panels(chunk);
    for (std::int64_t col = tile.col_begin; col < tile.col_end; col += kRightWidth)
      for (std::int64_t row = tile.row_begin; row < tile.row_end; row += kLeftWidth)
        multiply_panels(left.pairs, left[row / kLeftWidth], right[col / kRightWidth].data,
                        {c_.row<float>(row) + col, c_.stride, std::min(kLeftWidth, tile.row_end - row),
                         std::min(kRightWidth, tile.col_end - col), accumulate_ || chunk > 0});
  }
}

#else

void DotFactor::put_lines(const float*, std::int64_t, std::int64_t, std::int64_t) const {
  core::fail(core::ErrorCode::kInternal, "not made for this processor");
}

void DotFactor::put_depths(const float*, std::int64_t, std::int64_t, std::int64_t) const {
  core::fail(core::ErrorCode::kInternal, "not made for this processor");
}

void DotProduct::multiply(const Tile&) const {
  core::fail(core::ErrorCode::kInternal, "not made for this processor");
}

#endif

}  // namespace dragoman::backend::cpu
