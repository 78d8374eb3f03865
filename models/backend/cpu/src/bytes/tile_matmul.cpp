#include "byte_matmul.h"
#include "simd/tile_registers.h"

#include <algorithm>
#include <cstring>

#include <dragoman/core/error.h>

/// Byte products with AMX. oneDNN's kernels wait for weights that come from memory, and write all sums before anything
/// reads them. These kernels prefetch, and finish a tile while it is in the first-level cache. Measured gains:
/// docs/project/performance.md. Instructions: Intel's Architecture Instruction Set Extensions Programming Reference,
/// chapter 3.
namespace dragoman::backend::cpu {

#ifdef __x86_64__

namespace {

/// Registers 0 to 3 have sums, 4 and 5 rows of x (64 inputs of each), 6 and 7 weights: 16 groups of inputs of 16
/// outputs.
constexpr std::int64_t kRegisterRows = TileRegisters::kRows;
constexpr std::int64_t kRegisterOutputs = 16;
constexpr std::int64_t kRegisterBytes = 1024;
/// Two registers of rows times two of outputs need the fewest loads: one for each product.
constexpr std::int64_t kTileRows = 2 * kRegisterRows;
constexpr std::int64_t kBlockOutputs = 2 * kRegisterOutputs;
static_assert(kByteOutputUnit % kBlockOutputs == 0);
constexpr std::int64_t kLine = 64;

std::int64_t rounded_up(std::int64_t outputs) {
  return (outputs + kRegisterOutputs - 1) / kRegisterOutputs * kRegisterOutputs;
}

/// 32 outputs, or 16 at the end. For 64 inputs at a time it has a register of each 16 outputs.
struct Block {
  std::int8_t* numbers;
  std::int64_t outputs;  ///< without padding
  std::int64_t registers;
};

Block block_of(const ByteShape& shape, const void* packed, std::int64_t number) {
  const std::int64_t first = number * kBlockOutputs;
  const std::int64_t outputs = std::min(kBlockOutputs, shape.outputs - first);
  return {static_cast<std::int8_t*>(const_cast<void*>(packed)) + first * shape.inputs, outputs,
          rounded_up(outputs) / kRegisterOutputs};
}

/// How the rows of x are divided among registers. A product takes as many cycles as its registers have rows, so all
/// have the same number, and the last ones may repeat a few rows. Sums are exact, so that does no harm.
struct RowPlan {
  std::int64_t rows;
  std::int64_t tiles;
  std::int64_t per_register;

  explicit RowPlan(std::int64_t count) : rows(count), tiles((count + kTileRows - 1) / kTileRows) {
    per_register = two_registers() ? (rows + 2 * tiles - 1) / (2 * tiles) : rows;
  }
  bool two_registers() const { return rows > kRegisterRows; }
  std::int64_t first_row(std::int64_t tile) const {
    return std::max<std::int64_t>(0, std::min(tile * 2 * per_register, rows - 2 * per_register));
  }
  std::int64_t second_row(std::int64_t tile) const {
    return std::min(first_row(tile) + per_register, rows - per_register);
  }
};

/// Lines of memory that are prefetched into the second-level cache, some before each step.
struct Prefetched {
  const std::int8_t* next;
  std::int64_t per_step;

  /// Two blocks ahead, a weight comes early enough from memory, and is still in the cache when it is multiplied. With
  /// few rows, the memory decides, and prefetching only costs instructions.
  Prefetched(const ByteShape& shape, const Block& block, const RowPlan& plan) : next(block.numbers), per_step(0) {
    if (plan.tiles < 2) return;
    const std::int64_t bytes = kBlockOutputs * shape.inputs;
    const std::int64_t steps = plan.tiles * (shape.inputs / kTileInputs);
    next += 2 * bytes;
    per_step = (bytes / kLine + steps - 1) / steps;
  }
};

/// A tile of sums whose rows are converted during the steps of the next tile.
class Finishing {
 public:
  Finishing(const ByteFinish& finish, std::int64_t inputs)
      : finish_(finish), per_step_((kTileRows * kTileInputs + inputs - 1) / inputs) {}

  /// `sums` are of `count` rows from `row` on, and of the outputs of a block from `output` on.
  DRAGOMAN_TILES DRAGOMAN_INLINE void begin(const std::int32_t* sums, std::int64_t row, std::int64_t count,
                                            std::int64_t output, std::int64_t outputs) {
    sums_ = sums;
    left_ = count;
    row_scales_ = finish_.dequantization.row_scales + row;
    y_ = finish_.y + row * finish_.y_stride + output;
    const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << outputs) - 1);
    for (int v = 0; v < 2; ++v) {
      const std::int64_t at = output + v * kRegisterOutputs;
      stored_[v] = static_cast<__mmask16>(all >> (v * kRegisterOutputs));
      zero_sums_[v] = _mm512_maskz_loadu_epi32(stored_[v], finish_.dequantization.zero_sums + at);
      scales_[v] = _mm512_maskz_loadu_ps(stored_[v], finish_.dequantization.col_scales + at);
      biases_[v] = finish_.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(stored_[v], finish_.bias + at);
    }
  }

  DRAGOMAN_TILES DRAGOMAN_INLINE void step() { convert(std::min(per_step_, left_)); }
  DRAGOMAN_TILES DRAGOMAN_INLINE void end() { convert(left_); }

 private:
  DRAGOMAN_TILES DRAGOMAN_INLINE void convert(std::int64_t rows) {
    left_ -= rows;
    for (; rows > 0; --rows, sums_ += kBlockOutputs, y_ += finish_.y_stride, ++row_scales_) {
      const __m512 row_scale = _mm512_set1_ps(*row_scales_);
      DRAGOMAN_UNROLL
      for (int v = 0; v < 2; ++v) {
        const __m512i sum = _mm512_sub_epi32(_mm512_load_si512(sums_ + v * kRegisterOutputs), zero_sums_[v]);
        __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(row_scale, scales_[v]));
        if (finish_.bias != nullptr) value = _mm512_add_ps(value, biases_[v]);
        // This order keeps NaN.
        if (finish_.relu) value = _mm512_max_ps(_mm512_setzero_ps(), value);
        _mm512_mask_storeu_ps(y_ + v * kRegisterOutputs, stored_[v], value);
      }
    }
  }

  const ByteFinish finish_;
  std::int64_t per_step_;
  const std::int32_t* sums_ = nullptr;
  std::int64_t left_ = 0;
  const float* row_scales_ = nullptr;
  float* y_ = nullptr;
  __mmask16 stored_[2]{};
  __m512i zero_sums_[2]{};
  __m512 scales_[2]{};
  __m512 biases_[2]{};
};

/// Copies a tile of sums.
class Copying {
 public:
  Copying(std::int32_t* y, std::int64_t stride) : y_(y), stride_(stride) {}

  void begin(const std::int32_t* sums, std::int64_t row, std::int64_t count, std::int64_t output,
             std::int64_t outputs) const {
    for (std::int64_t r = 0; r < count; ++r)
      std::memcpy(y_ + (row + r) * stride_ + output, sums + r * kBlockOutputs,
                  static_cast<std::size_t>(outputs) * sizeof(std::int32_t));
  }
  static void step() {}
  static void end() {}

 private:
  std::int32_t* y_;
  std::int64_t stride_;
};

/// A product of one tile of rows with a block of outputs.
struct TileProduct {
  const std::int8_t* numbers;
  const std::uint8_t* x;         ///< the rows of the first register
  const std::uint8_t* second_x;  ///< of the second one, if there are two
  std::int64_t inputs;
  std::int32_t* sums;  ///< of the first register, kBlockOutputs apart
  std::int32_t* second_sums;
};

template <bool kTwoRows, int kOutputs, class Previous>
DRAGOMAN_TILES DRAGOMAN_INLINE void multiply_tile(const TileProduct& product, Prefetched& prefetched,
                                                  Previous& previous) {
  constexpr std::int64_t kSumBytes = kBlockOutputs * static_cast<std::int64_t>(sizeof(std::int32_t));
  const auto& [numbers, x, second_x, inputs, sums, second_sums] = product;
  const std::int8_t* weights = numbers;
  _tile_zero(0);
  if constexpr (kOutputs == 2) _tile_zero(1);
  if constexpr (kTwoRows) _tile_zero(2);
  if constexpr (kTwoRows && kOutputs == 2) _tile_zero(3);
  for (std::int64_t input = 0; input < inputs; input += kTileInputs) {
    _tile_loadd(6, weights, kLine);
    _tile_loadd(4, x + input, inputs);
    _tile_dpbusd(0, 4, 6);
    if constexpr (kOutputs == 2) _tile_loadd(7, weights + kRegisterBytes, kLine);
    for (std::int64_t line = 0; line < prefetched.per_step; ++line, prefetched.next += kLine)
      _mm_prefetch(reinterpret_cast<const char*>(prefetched.next), _MM_HINT_T1);
    if constexpr (kOutputs == 2) _tile_dpbusd(1, 4, 7);
    if constexpr (kTwoRows) {
      _tile_loadd(5, second_x + input, inputs);
      _tile_dpbusd(2, 5, 6);
      if constexpr (kOutputs == 2) _tile_dpbusd(3, 5, 7);
    }
    weights += kOutputs * kRegisterBytes;
    previous.step();
  }
  previous.end();
  _tile_stored(0, sums, kSumBytes);
  if constexpr (kOutputs == 2) _tile_stored(1, sums + kRegisterOutputs, kSumBytes);
  if constexpr (kTwoRows) _tile_stored(2, second_sums, kSumBytes);
  if constexpr (kTwoRows && kOutputs == 2) _tile_stored(3, second_sums + kRegisterOutputs, kSumBytes);
}

class TileMatmul final : public GroupedByteMatmul {
 public:
  std::size_t bytes(const ByteShape& shape) const override {
    return static_cast<std::size_t>(rounded_up(shape.outputs) * shape.inputs);
  }

  void multiply(const ByteShape& shape, const void* packed, const OutputRange& part, const std::uint8_t* x,
                std::int64_t rows, std::int32_t* y) const override {
    multiply_tiles(shape, packed, part, x, rows, Copying(y, part.count));
  }

  bool finishes() const override { return true; }
  DRAGOMAN_TILES void multiply_and_finish(const ByteShape& shape, const void* packed, const std::uint8_t* x,
                                          std::int64_t rows, const ByteFinish& finish) const override {
    multiply_tiles(shape, packed, {0, shape.outputs}, x, rows, Finishing(finish, shape.inputs));
  }

 protected:
  Groups groups_of(const ByteShape& shape, const void* packed, std::int64_t output) const override {
    const Block block = block_of(shape, packed, output / kBlockOutputs);
    const std::int64_t in_block = output % kBlockOutputs;
    return {block.numbers + in_block / kRegisterOutputs * kRegisterBytes + in_block % kRegisterOutputs * kGroupInputs,
            kLine, block.registers * kRegisterBytes};
  }

 private:
  template <class Previous>
  DRAGOMAN_TILES static void multiply_tiles(const ByteShape& shape, const void* packed, const OutputRange& part,
                                            const std::uint8_t* x, std::int64_t rows, Previous previous) {
    if (rows == 0) return;
    const RowPlan plan(rows);
    const TileRegisters registers(plan.per_register);
    alignas(kLine) std::int32_t sums[2][kTileRows * kBlockOutputs];
    int current = 0;
    for (std::int64_t output = part.first; output < part.first + part.count; output += kBlockOutputs) {
      const Block block = block_of(shape, packed, output / kBlockOutputs);
      Prefetched prefetched(shape, block, plan);
      std::int64_t done = 0;
      for (std::int64_t tile = 0; tile < plan.tiles; ++tile) {
        const std::int64_t first = plan.first_row(tile);
        const std::int64_t second = plan.two_registers() ? plan.second_row(tile) : first;
        multiply_block({.numbers = block.numbers,
                        .x = x + first * shape.inputs,
                        .second_x = x + second * shape.inputs,
                        .inputs = shape.inputs,
                        .sums = sums[current],
                        .second_sums = sums[current] + (second - first) * kBlockOutputs},
                       plan.two_registers(), block.registers == 2, prefetched, previous);
        const std::int64_t end = second + plan.per_register;
        previous.begin(sums[current] + (done - first) * kBlockOutputs, done, end - done, output - part.first,
                       block.outputs);
        done = end;
        current = 1 - current;
      }
    }
    previous.end();
  }

  template <class Previous>
  DRAGOMAN_TILES DRAGOMAN_INLINE static void multiply_block(const TileProduct& product, bool two_rows, bool two_outputs,
                                                            Prefetched& prefetched, Previous& previous) {
    if (two_rows && two_outputs)
      multiply_tile<true, 2>(product, prefetched, previous);
    else if (two_rows)
      multiply_tile<true, 1>(product, prefetched, previous);
    else if (two_outputs)
      multiply_tile<false, 2>(product, prefetched, previous);
    else
      multiply_tile<false, 1>(product, prefetched, previous);
  }
};

}  // namespace

const ByteMatmul& tile_matmul() {
  static const TileMatmul matmul;
  return matmul;
}

#else

const ByteMatmul& tile_matmul() {
  core::fail(core::ErrorCode::kInternal, "not made for this processor");
}

#endif

}  // namespace dragoman::backend::cpu
