#include "byte_matmul.h"
#include "simd/prefetch.h"
#include "simd/x86.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include <dragoman/core/error.h>

/// Byte products with AVX2. vpmaddubsw multiplies unsigned by signed bytes and adds two adjacent products in 16 bits.
/// Then vpmaddwd by ones widens the sums to 32 bits, which costs the same again.
///
/// Two such sums can be added in 16 bits first if they cannot overflow, which halves the widening. The weight decides
/// this. Values of x are at most 127. So four products cannot overflow if the positive ones of their four weights add
/// up to at most 255, and likewise the negative ones.
///
/// Packing therefore pairs the inputs, in groups of four. Each eight outputs have a separate order of groups with the
/// largest number of such pairs that it finds. Groups without a partner are widened separately. Measured gains:
/// docs/project/performance.md.
namespace dragoman::backend::cpu {

#ifdef __x86_64__

namespace {

constexpr std::int64_t kBlockOutputs = 8;
static_assert(kByteOutputUnit % kBlockOutputs == 0);
constexpr std::int64_t kGroupBytes = kBlockOutputs * kGroupInputs;

std::int64_t block_count(const ByteShape& shape) {
  return (shape.outputs + kBlockOutputs - 1) / kBlockOutputs;
}
std::int64_t group_count(const ByteShape& shape) {
  return shape.inputs / kGroupInputs;
}

constexpr std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Eight outputs. `order` lists the groups in the order of multiplication, pairs first. `numbers` holds, in that order,
/// four values of each output for each group.
struct Block {
  std::int32_t* pairs;  ///< number of pairs
  std::uint16_t* order;
  std::int8_t* numbers;
};

/// The positions of the parts of a packed weight.
class Layout {
 public:
  Layout(const ByteShape& shape, const void* storage)
      : groups_(group_count(shape)), base_(static_cast<std::byte*>(const_cast<void*>(storage))) {
    const auto blocks = static_cast<std::size_t>(block_count(shape));
    const auto groups = static_cast<std::size_t>(groups_);
    order_ = aligned(blocks * sizeof(std::int32_t));
    numbers_ = order_ + aligned(blocks * groups * sizeof(std::uint16_t));
    end_ = numbers_ + blocks * groups * static_cast<std::size_t>(kGroupBytes);
  }

  std::int64_t groups() const noexcept { return groups_; }
  std::size_t bytes() const noexcept { return aligned(end_); }
  Block block(std::int64_t number) const noexcept {
    return {reinterpret_cast<std::int32_t*>(base_) + number,
            reinterpret_cast<std::uint16_t*>(base_ + order_) + number * groups_,
            reinterpret_cast<std::int8_t*>(base_ + numbers_) + number * groups_ * kGroupBytes};
  }

 private:
  std::int64_t groups_;
  std::byte* base_;
  std::size_t order_;
  std::size_t numbers_;
  std::size_t end_;
};

/// Packs one block at a time.
class Packer {
 public:
  explicit Packer(std::int64_t groups)
      : groups_(static_cast<std::size_t>(groups)), vectors_(groups_), loads_(groups_), by_load_(groups_) {}

  /// `rows` are the weights of the block's outputs.
  void pack(const std::array<const std::int8_t*, kBlockOutputs>& rows, const Block& block) {
    collect(rows);
    sort_by_load(weigh());
    *block.pairs = pair(block.order);
    for (std::size_t i = 0; i < groups_; ++i)
      std::ranges::copy(vectors_[block.order[i]], block.numbers + i * vectors_[i].size());
  }

 private:
  using Vector = std::array<std::int8_t, kGroupBytes>;

  DRAGOMAN_AVX2 static __m256i load(const Vector& vector) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(vector.data()));
  }

  /// Collects the groups in the order of the inputs.
  void collect(const std::array<const std::int8_t*, kBlockOutputs>& rows) {
    for (std::size_t group = 0; group < groups_; ++group)
      for (std::size_t r = 0; r < rows.size(); ++r)
        std::memcpy(vectors_[group].data() + r * kGroupInputs, rows[r] + group * kGroupInputs, kGroupInputs);
  }

  /// Computes, for every two adjacent weights, the sum of the positive ones and of the negative ones, as bytes. Returns
  /// the largest of them for each group.
  DRAGOMAN_AVX2 std::vector<std::uint8_t> weigh() {
    const __m256i ones = _mm256_set1_epi8(1);
    std::vector<std::uint8_t> largest;
    largest.reserve(groups_);
    for (std::size_t group = 0; group < groups_; ++group) {
      const __m256i numbers = load(vectors_[group]);
      const __m256i positive = _mm256_max_epi8(numbers, _mm256_setzero_si256());
      const __m256i negative = _mm256_sub_epi8(positive, numbers);
      const __m256i sums =
          _mm256_packus_epi16(_mm256_maddubs_epi16(positive, ones), _mm256_maddubs_epi16(negative, ones));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(loads_[group].data()), sums);
      __m128i most = _mm_max_epu8(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
      most = _mm_max_epu8(most, _mm_srli_si128(most, 8));
      most = _mm_max_epu8(most, _mm_srli_si128(most, 4));
      most = _mm_max_epu8(most, _mm_srli_si128(most, 2));
      most = _mm_max_epu8(most, _mm_srli_si128(most, 1));
      largest.push_back(static_cast<std::uint8_t>(_mm_cvtsi128_si32(most)));
    }
    return largest;
  }

  void sort_by_load(const std::vector<std::uint8_t>& largest) {
    std::array<std::size_t, 257> begin{};
    for (const std::uint8_t load : largest) ++begin[load + std::size_t{1}];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (std::size_t group = 0; group < groups_; ++group)
      by_load_[begin[largest[group]]++] = static_cast<std::uint16_t>(group);
  }

  /// Pairs the heaviest group with the lightest compatible one, then the next heaviest, and so on. Fills `order` and
  /// returns the number of pairs.
  DRAGOMAN_AVX2 std::int32_t pair(std::uint16_t* order) {
    const __m256i all = _mm256_set1_epi8(-1);
    std::size_t paired = 0;
    std::size_t alone = groups_;
    for (std::size_t left = groups_; left > 0;) {
      const std::uint16_t heavy = by_load_[--left];
      const __m256i room = _mm256_xor_si256(load(loads_[heavy]), all);  // 255 - load
      std::size_t partner = 0;
      for (; partner < left; ++partner) {
        const __m256i excess = _mm256_subs_epu8(load(loads_[by_load_[partner]]), room);
        if (_mm256_testz_si256(excess, excess) != 0) break;
      }
      if (partner == left) {
        order[--alone] = heavy;
        continue;
      }
      order[paired++] = heavy;
      order[paired++] = by_load_[partner];
      std::copy(by_load_.begin() + static_cast<std::ptrdiff_t>(partner) + 1,
                by_load_.begin() + static_cast<std::ptrdiff_t>(left),
                by_load_.begin() + static_cast<std::ptrdiff_t>(partner));
      --left;
    }
    return static_cast<std::int32_t>(paired / 2);
  }

  std::size_t groups_;
  std::vector<Vector> vectors_;
  std::vector<Vector> loads_;
  std::vector<std::uint16_t> by_load_;
};

/// Returns four values of x, repeated in every lane.
DRAGOMAN_AVX2 DRAGOMAN_INLINE __m256i four_numbers(const std::uint8_t* x) {
  std::int32_t bits = 0;
  std::memcpy(&bits, x, sizeof bits);
  return _mm256_set1_epi32(bits);
}

/// Multiplies kRows rows of x by the outputs of a block. y has a row of eight sums for each.
template <int kRows>
DRAGOMAN_AVX2 void multiply_block(const Block& block, std::int64_t groups, const std::uint8_t* x, std::int64_t x_stride,
                                  std::int32_t* y, std::int64_t y_stride) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kRows];
  DRAGOMAN_UNROLL
  for (int r = 0; r < kRows; ++r) sums[r] = _mm256_setzero_si256();
  const auto* numbers = reinterpret_cast<const __m256i*>(block.numbers);
  const std::uint16_t* group = block.order;
  const std::uint16_t* const end_of_pairs = group + std::ptrdiff_t{2} * *block.pairs;
  const std::uint16_t* const end = group + groups;
  for (; group != end_of_pairs; group += 2, numbers += 2) {
    const __m256i first = _mm256_load_si256(numbers);
    const __m256i second = _mm256_load_si256(numbers + 1);
    const std::uint8_t* first_x = x + kGroupInputs * group[0];
    const std::uint8_t* second_x = x + kGroupInputs * group[1];
    DRAGOMAN_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m256i four = _mm256_add_epi16(_mm256_maddubs_epi16(four_numbers(first_x + r * x_stride), first),
                                            _mm256_maddubs_epi16(four_numbers(second_x + r * x_stride), second));
      sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(four, ones));
    }
  }
  for (; group != end; ++group, ++numbers) {
    const __m256i alone = _mm256_load_si256(numbers);
    const std::uint8_t* alone_x = x + kGroupInputs * *group;
    DRAGOMAN_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m256i two = _mm256_maddubs_epi16(four_numbers(alone_x + r * x_stride), alone);
      sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(two, ones));
    }
  }
  DRAGOMAN_UNROLL
  for (int r = 0; r < kRows; ++r) _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + r * y_stride), sums[r]);
}

constexpr std::int64_t kMaxRows = 8;
using MultiplyBlock = void (*)(const Block&, std::int64_t, const std::uint8_t*, std::int64_t, std::int32_t*,
                               std::int64_t);

/// Returns the kernels by the number of rows, from 1.
template <int... kLess>
constexpr std::array<MultiplyBlock, kMaxRows> kernels_by_rows(std::integer_sequence<int, kLess...>) {
  return {multiply_block<kLess + 1>...};
}
constexpr auto kMultiplyBlock = kernels_by_rows(std::make_integer_sequence<int, kMaxRows>());

class PairedMatmul final : public ByteMatmul {
 public:
  std::size_t bytes(const ByteShape& shape) const override { return Layout(shape, nullptr).bytes(); }

  void pack(const ByteShape& shape, const std::int8_t* weight, std::int64_t stride, void* packed) const override {
    const Layout layout(shape, packed);
    const std::vector<std::int8_t> zeros(static_cast<std::size_t>(shape.inputs));
    Packer packer(layout.groups());
    for (std::int64_t b = 0; b < block_count(shape); ++b) {
      std::array<const std::int8_t*, kBlockOutputs> rows{};
      for (std::int64_t r = 0; r < kBlockOutputs; ++r) {
        const std::int64_t output = b * kBlockOutputs + r;
        rows[static_cast<std::size_t>(r)] = output < shape.outputs ? weight + output * stride : zeros.data();
      }
      packer.pack(rows, layout.block(b));
    }
  }

  /// Without pairs, because outputs that will be copied may not be compatible.
  void pack_zeros(const ByteShape& shape, void* packed) const override {
    const Layout layout(shape, packed);
    std::memset(packed, 0, layout.bytes());
    for (std::int64_t b = 0; b < block_count(shape); ++b)
      std::iota(layout.block(b).order, layout.block(b).order + layout.groups(), std::uint16_t{0});
  }

  void copy(const ByteShape& from_shape, const void* from, std::int64_t output, const ByteShape& to_shape, void* to,
            std::int64_t to_output) const override {
    const Layout layout(from_shape, from);
    const Block source = layout.block(output / kBlockOutputs);
    const Block target = Layout(to_shape, to).block(to_output / kBlockOutputs);
    const std::int8_t* numbers = source.numbers + output % kBlockOutputs * kGroupInputs;
    std::int8_t* to_numbers = target.numbers + to_output % kBlockOutputs * kGroupInputs;
    for (std::int64_t i = 0; i < layout.groups(); ++i)
      std::memcpy(to_numbers + source.order[i] * kGroupBytes, numbers + i * kGroupBytes, kGroupInputs);
  }

  void multiply(const ByteShape& shape, const void* packed, const OutputRange& part, const std::uint8_t* x,
                std::int64_t rows, std::int32_t* y) const override {
    const Layout layout(shape, packed);
    const std::int64_t begin = part.first / kBlockOutputs;
    const std::int64_t end = (part.first + part.count + kBlockOutputs - 1) / kBlockOutputs;
    for (std::int64_t b = begin; b < end; ++b) {
      const Prefetch prefetch(layout.block(b + 1).numbers, b + 1 < end ? layout.groups() * kGroupBytes : 0,
                              (rows + kMaxRows - 1) / kMaxRows);
      const std::int64_t column = (b - begin) * kBlockOutputs;
      for (std::int64_t row = 0; row < rows; row += kMaxRows) {
        prefetch.part(row / kMaxRows);
        multiply_rows(layout, b, x + row * shape.inputs, std::min(kMaxRows, rows - row), y + row * part.count + column,
                      part.count, std::min(kBlockOutputs, part.count - column));
      }
    }
  }

 private:
  /// Multiplies at most kMaxRows rows of x by the first `outputs` of block b.
  static void multiply_rows(const Layout& layout, std::int64_t b, const std::uint8_t* x, std::int64_t rows,
                            std::int32_t* y, std::int64_t y_stride, std::int64_t outputs) {
    const MultiplyBlock multiply = kMultiplyBlock[static_cast<std::size_t>(rows - 1)];
    const std::int64_t x_stride = layout.groups() * kGroupInputs;
    if (outputs == kBlockOutputs) return multiply(layout.block(b), layout.groups(), x, x_stride, y, y_stride);
    std::array<std::int32_t, kMaxRows * kBlockOutputs> sums;
    multiply(layout.block(b), layout.groups(), x, x_stride, sums.data(), kBlockOutputs);
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(sums.data() + r * kBlockOutputs, outputs, y + r * y_stride);
  }
};

}  // namespace

const ByteMatmul& paired_matmul() {
  static const PairedMatmul matmul;
  return matmul;
}

#else

const ByteMatmul& paired_matmul() {
  core::fail(core::ErrorCode::kInternal, "not made for this processor");
}

#endif

}  // namespace dragoman::backend::cpu
