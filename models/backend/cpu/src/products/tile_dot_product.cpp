#include "dot_matmul.h"
#include "simd/tile_registers.h"

#include <algorithm>
#include <vector>

#include <dragoman/core/error.h>

/// Products of bf16 with AMX. oneDNN 2.6 reached a tenth of the instructions' speed on the operands of training, whose
/// shapes it learns with each call. Measured gains: docs/project/performance.md.
namespace dragoman::backend::cpu {

#ifdef __x86_64__

namespace {

/// Two registers of lines of the left factor times two of the right one.
constexpr std::int64_t kBlock = 2 * TileRegisters::kRows;
/// Pairs that a register has of each line.
constexpr std::int64_t kRegisterPairs = 16;
constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kRegisterSize = TileRegisters::kRows * 2 * kRegisterPairs;

/// Two panels of lines, each of a register's rows.
struct Lines {
  const std::uint16_t* first;
  const std::uint16_t* second;
};

/// Adds to `sums` [kBlock, kBlock], or overwrites them.
DRAGOMAN_TILES void multiply_block(std::int64_t pairs, const Lines& left, const DotFactor::Panel& right, float* sums,
                                   bool accumulate) {
  constexpr std::int64_t kSumBytes = kBlock * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t right_bytes = right.pair_stride * 2;
  float* const below = sums + TileRegisters::kRows * kBlock;
  if (accumulate) {
    _tile_loadd(0, sums, kSumBytes);
    _tile_loadd(1, sums + TileRegisters::kRows, kSumBytes);
    _tile_loadd(2, below, kSumBytes);
    _tile_loadd(3, below + TileRegisters::kRows, kSumBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  auto [a, a_below] = left;
  const std::uint16_t* b = right.data;
  for (std::int64_t pair = 0; pair < pairs; pair += kRegisterPairs) {
    _tile_loadd(6, b, right_bytes);
    _tile_loadd(4, a, kLineBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kLineBytes / 2, right_bytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a_below, kLineBytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    a += kRegisterSize;
    a_below += kRegisterSize;
    b += kRegisterPairs * right.pair_stride;
  }
  _tile_stored(0, sums, kSumBytes);
  _tile_stored(1, sums + TileRegisters::kRows, kSumBytes);
  _tile_stored(2, below, kSumBytes);
  _tile_stored(3, below + TileRegisters::kRows, kSumBytes);
}

/// Adds a block of sums to c, or overwrites it.
void put_block(const float* sums, std::int64_t rows, std::int64_t cols, float* c, std::int64_t stride,
               bool accumulate) {
  for (std::int64_t r = 0; r < rows; ++r, sums += kBlock, c += stride) {
    if (accumulate)
      for (std::int64_t i = 0; i < cols; ++i) c[i] += sums[i];
    else
      std::copy_n(sums, cols, c);
  }
}

/// Memory for the sums of a tile, block after block. In c, whose rows may be a power of two apart, they would share the
/// sets of the caches.
class TileSums {
 public:
  explicit TileSums(const Tile& tile) : across_((tile.col_end - tile.col_begin + kBlock - 1) / kBlock) {
    const std::int64_t down = (tile.row_end - tile.row_begin + kBlock - 1) / kBlock;
    const auto size = static_cast<std::size_t>(down * across_);
    thread_local std::vector<Block> blocks;  // kept, because tiles follow each other
    if (blocks.size() < size) blocks.resize(size);
    blocks_ = blocks.data();
  }
  float* block(std::int64_t row, std::int64_t col) const { return blocks_[row / kBlock * across_ + col / kBlock].sums; }

 private:
  struct alignas(kLineBytes) Block {
    float sums[kBlock * kBlock];
  };

  std::int64_t across_;
  Block* blocks_;
};

}  // namespace

void DotProduct::multiply_in_tiles(const Tile& tile) const {
  const TileSums sums(tile);
  const std::int64_t rows = tile.row_end - tile.row_begin;
  const std::int64_t cols = tile.col_end - tile.col_begin;
  for (std::int64_t chunk = 0; chunk < left_.chunks(); ++chunk) {
    const DotFactor::Panels left = left_.panels(chunk);
    const DotFactor::Panels right = right_.panels(chunk);
    const TileRegisters registers(TileRegisters::kRows);
    for (std::int64_t col = 0; col < cols; col += kBlock)
      for (std::int64_t row = 0; row < rows; row += kBlock) {
        const std::int64_t panel = (tile.row_begin + row) / TileRegisters::kRows;
        multiply_block(left.pairs, {left[panel].data, left[panel + 1].data}, right[(tile.col_begin + col) / kBlock],
                       sums.block(row, col), chunk > 0);
      }
  }
  for (std::int64_t row = 0; row < rows; row += kBlock)
    for (std::int64_t col = 0; col < cols; col += kBlock)
      put_block(sums.block(row, col), std::min(kBlock, rows - row), std::min(kBlock, cols - col),
                c_.row<float>(tile.row_begin + row) + tile.col_begin + col, c_.stride, accumulate_);
}

#else

void DotProduct::multiply_in_tiles(const Tile&) const {
  core::fail(core::ErrorCode::kInternal, "not made for this processor");
}

#endif

}  // namespace dragoman::backend::cpu
