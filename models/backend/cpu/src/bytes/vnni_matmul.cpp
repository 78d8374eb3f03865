#include "byte_matmul.h"
#include "simd/prefetch.h"
#include "simd/x86.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <dragoman/core/error.h>

/// Byte products with AVX-512 VNNI. oneDNN's kernels are as fast if the weight is in a cache. These kernels gain by
/// prefetching it, and by multiplying any number of rows without padding. Measured gains: docs/project/performance.md.
namespace dragoman::backend::cpu {

#ifdef __x86_64__

namespace {

constexpr std::int64_t kVectorOutputs = 16;
constexpr std::int64_t kBlockVectors = 2;
constexpr std::int64_t kBlockOutputs = kBlockVectors * kVectorOutputs;
static_assert(kByteOutputUnit % kBlockOutputs == 0);
/// Inputs that are multiplied at a time. This part of a block and the next one both stay in the first-level cache.
constexpr std::int64_t kChunkInputs = 512;
constexpr std::int64_t kMaxRows = 8;

/// Rounds up to whole vectors.
std::int64_t rounded_up(std::int64_t outputs) {
  return (outputs + kVectorOutputs - 1) / kVectorOutputs * kVectorOutputs;
}

/// 32 outputs, or 16 at the end. For each group of inputs it has four values of every output, outputs innermost.
struct Block {
  std::int8_t* numbers;
  std::int64_t outputs;  ///< without padding
  std::int64_t vectors;

  std::int64_t group_bytes() const noexcept { return vectors * kVectorOutputs * kGroupInputs; }
};

Block block_of(const ByteShape& shape, const void* packed, std::int64_t number) {
  const std::int64_t first = number * kBlockOutputs;
  const std::int64_t outputs = std::min(kBlockOutputs, shape.outputs - first);
  return {static_cast<std::int8_t*>(const_cast<void*>(packed)) + first * shape.inputs, outputs,
          rounded_up(outputs) / kVectorOutputs};
}

/// A part of a product.
struct Piece {
  const std::uint8_t* x;
  std::int64_t x_stride;
  const std::int8_t* numbers;
  std::int64_t groups;
  std::int32_t* y;
  std::int64_t y_stride;
  bool adds;             ///< adds to y instead of overwriting it
  std::uint16_t stored;  ///< mask of the outputs of the last vector that exist in y
};

/// Inline assembly, because GCC 12 copies the sums before and after its intrinsic.
DRAGOMAN_VNNI DRAGOMAN_INLINE void add_products(__m512i& sums, __m512i x, __m512i weights) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(weights));
}

template <int kRows, int kVectors>
DRAGOMAN_VNNI void multiply_piece(const Piece& piece) {
  __m512i sums[kRows][kVectors];
  DRAGOMAN_UNROLL
  for (int r = 0; r < kRows; ++r) {
    DRAGOMAN_UNROLL
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_si512();
  }
  const std::int8_t* numbers = piece.numbers;
  const std::uint8_t* x = piece.x;
  const std::int64_t stride = piece.x_stride;
  for (std::int64_t group = 0; group < piece.groups; ++group) {
    __m512i weights[kVectors];
    DRAGOMAN_UNROLL
    for (int v = 0; v < kVectors; ++v, numbers += sizeof(__m512i)) weights[v] = _mm512_load_si512(numbers);
    DRAGOMAN_UNROLL
    for (int r = 0; r < kRows; ++r) {
      std::int32_t bits = 0;
      std::memcpy(&bits, x + r * stride, sizeof bits);
      const __m512i four = _mm512_set1_epi32(bits);
      DRAGOMAN_UNROLL
      for (int v = 0; v < kVectors; ++v) add_products(sums[r][v], four, weights[v]);
    }
    x += kGroupInputs;
  }
  std::int32_t* const y = piece.y;
  const std::int64_t y_stride = piece.y_stride;
  const __mmask16 last = piece.stored;
  if (piece.adds) {
    DRAGOMAN_UNROLL
    for (int r = 0; r < kRows; ++r) {
      DRAGOMAN_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const __mmask16 mask = v + 1 == kVectors ? last : __mmask16{0xFFFF};
        const __m512i before = _mm512_maskz_loadu_epi32(mask, y + r * y_stride + v * kVectorOutputs);
        sums[r][v] = _mm512_add_epi32(sums[r][v], before);
      }
    }
  }
  DRAGOMAN_UNROLL
  for (int r = 0; r < kRows; ++r) {
    DRAGOMAN_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const __mmask16 mask = v + 1 == kVectors ? last : __mmask16{0xFFFF};
      _mm512_mask_storeu_epi32(y + r * y_stride + v * kVectorOutputs, mask, sums[r][v]);
    }
  }
}

using MultiplyPiece = void (*)(const Piece&);

/// Returns the kernels by the number of rows, from 1.
template <int kVectors, int... kLess>
constexpr std::array<MultiplyPiece, kMaxRows> kernels_by_rows(std::integer_sequence<int, kLess...>) {
  return {multiply_piece<kLess + 1, kVectors>...};
}
/// Kernels by the number of vectors, from 1.
constexpr std::array kMultiplyPiece = {kernels_by_rows<1>(std::make_integer_sequence<int, kMaxRows>()),
                                       kernels_by_rows<2>(std::make_integer_sequence<int, kMaxRows>())};

class VnniMatmul final : public GroupedByteMatmul {
 public:
  std::size_t bytes(const ByteShape& shape) const override {
    return static_cast<std::size_t>(rounded_up(shape.outputs) * shape.inputs);
  }

  void multiply(const ByteShape& shape, const void* packed, const OutputRange& part, const std::uint8_t* x,
                std::int64_t rows, std::int32_t* y) const override {
    const Rows product{x, rows, y, part.count};
    const std::int64_t part_end = part.first + part.count;
    const std::int8_t* end =
        block_of(shape, packed, part.first / kBlockOutputs).numbers + rounded_up(part.count) * shape.inputs;
    for (std::int64_t first = part.first; first < part_end; first += kBlockOutputs) {
      const Block block = block_of(shape, packed, first / kBlockOutputs);
      for (std::int64_t input = 0; input < shape.inputs; input += kChunkInputs)
        multiply_chunk(shape, block, input, end, product, first - part.first);
    }
  }

 protected:
  Groups groups_of(const ByteShape& shape, const void* packed, std::int64_t output) const override {
    const Block block = block_of(shape, packed, output / kBlockOutputs);
    const std::int64_t step = block.group_bytes();
    return {block.numbers + output % kBlockOutputs * kGroupInputs, step, kRunGroups * step};
  }

 private:
  struct Rows {
    const std::uint8_t* x;
    std::int64_t count;
    std::int32_t* y;
    std::int64_t y_stride;
  };

  /// Adds the contribution of the inputs from `input` on to the outputs of a block, which are at `column` of y.
  static void multiply_chunk(const ByteShape& shape, const Block& block, std::int64_t input, const std::int8_t* end,
                             const Rows& rows, std::int64_t column) {
    const std::int64_t groups = std::min(kChunkInputs, shape.inputs - input) / kGroupInputs;
    const std::int8_t* numbers = block.numbers + input / kGroupInputs * block.group_bytes();
    const std::int8_t* next = numbers + groups * block.group_bytes();
    const Prefetch prefetch(next, std::min<std::int64_t>(end - next, kChunkInputs * kBlockOutputs),
                            (rows.count + kMaxRows - 1) / kMaxRows);
    const std::int64_t last = block.outputs - (block.vectors - 1) * kVectorOutputs;
    for (std::int64_t row = 0; row < rows.count; row += kMaxRows) {
      prefetch.part(row / kMaxRows);
      const std::int64_t count = std::min(kMaxRows, rows.count - row);
      kMultiplyPiece[static_cast<std::size_t>(block.vectors - 1)][static_cast<std::size_t>(count - 1)](
          {.x = rows.x + row * shape.inputs + input,
           .x_stride = shape.inputs,
           .numbers = numbers,
           .groups = groups,
           .y = rows.y + row * rows.y_stride + column,
           .y_stride = rows.y_stride,
           .adds = input > 0,
           .stored = static_cast<std::uint16_t>((1U << last) - 1)});
    }
  }
};

}  // namespace

const ByteMatmul& vnni_matmul() {
  static const VnniMatmul matmul;
  return matmul;
}

#else

const ByteMatmul& vnni_matmul() {
  core::fail(core::ErrorCode::kInternal, "not made for this processor");
}

#endif

}  // namespace dragoman::backend::cpu
