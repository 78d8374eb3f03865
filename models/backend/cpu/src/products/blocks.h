#pragma once

#include <algorithm>
#include <cstdint>

#include <dragoman/core/parallel.h>

namespace dragoman::backend::cpu {

/// Large enough that passing a block to another thread costs next to nothing, small enough that a block stays in the
/// second-level cache.
inline constexpr std::int64_t kBlockElements = 16384;

/// The rows per block of row kernels, a function of the shape alone.
inline std::int64_t rows_per_block(std::int64_t cols) {
  return std::max<std::int64_t>(1, kBlockElements / std::max<std::int64_t>(1, cols));
}

/// Half-open ranges of rows and columns.
struct Tile {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t col_begin;
  std::int64_t col_end;

  std::size_t width() const noexcept { return static_cast<std::size_t>(col_end - col_begin); }
};

/// Calls body(tile) for tiles that cover [rows, cols]. Tiles are whole rows, or parts of one row if rows are long (flat
/// buffers).
template <class Body>
void for_each_tile(core::Executor& executor, std::int64_t rows, std::int64_t cols, Body&& body) {
  if (rows <= 0 || cols <= 0) return;
  const std::int64_t tile_cols = std::min(cols, kBlockElements);
  const std::int64_t tile_rows = rows_per_block(tile_cols);
  const std::int64_t across = (cols + tile_cols - 1) / tile_cols;
  const std::int64_t down = (rows + tile_rows - 1) / tile_rows;
  executor.for_each(across * down, [&](std::int64_t i) {
    const std::int64_t row = i / across * tile_rows;
    const std::int64_t col = i % across * tile_cols;
    body(Tile{row, std::min(rows, row + tile_rows), col, std::min(cols, col + tile_cols)});
  });
}

}  // namespace dragoman::backend::cpu
