#pragma once

#include "access.h"

// Kernels that do the same to each element of a matrix. Such a kernel takes only the time of moving its bytes if each
// thread moves 16 bytes with one instruction and does not divide. Therefore a block has a rectangle of rows and
// columns.
namespace dragoman::backend::cuda::device {

/// Adjacent elements of a row: 1, 4 or 8.
template <int kWidth>
struct Run {
  float values[kWidth];
};
inline constexpr int kQuad = 4;
using Quad = Run<kQuad>;

template <int kWidth>
SIMT_DEVICE Run<kWidth> load_run(const Matrix& x, std::int64_t row, std::int64_t col) {
  const float* const from = &at(x, row, col);
  Run<kWidth> run;
  if constexpr (kWidth == 1) {
    run.values[0] = *from;
  } else {
    SIMT_UNROLL
    for (int first = 0; first < kWidth; first += kQuad) {
      const simt::Vector<float, kQuad> quad = simt::load_vector<kQuad>(from + first);
      SIMT_UNROLL
      for (int i = 0; i < kQuad; ++i) run.values[first + i] = quad.values[i];
    }
  }
  return run;
}
template <int kWidth>
SIMT_DEVICE void store_run(const Matrix& y, std::int64_t row, std::int64_t col, const Run<kWidth>& run) {
  float* const to = &at(y, row, col);
  if constexpr (kWidth == 1) {
    *to = run.values[0];
  } else {
    SIMT_UNROLL
    for (int first = 0; first < kWidth; first += kQuad) {
      simt::Vector<float, kQuad> quad;
      SIMT_UNROLL
      for (int i = 0; i < kQuad; ++i) quad.values[i] = run.values[first + i];
      simt::store_vector(to + first, quad);
    }
  }
}
template <int kWidth>
SIMT_DEVICE void put_run(const Matrix& y, std::int64_t row, std::int64_t col, Run<kWidth> run, bool accumulate) {
  if (accumulate) {
    const Run<kWidth> before = load_run<kWidth>(y, row, col);
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) run.values[i] = before.values[i] + run.values[i];
  }
  store_run(y, row, col, run);
}

/// Access to a quad of a row. If `kWide`, rows consist of whole quads that are aligned for vectors. Otherwise quads are
/// accessed element by element and end at the last column. Elements beyond it are read as zeros.
template <bool kWide>
SIMT_DEVICE bool is_in_row(std::int64_t cols, std::int64_t col, int n) {
  return (kWide ? col : col + n) < cols;
}
template <bool kWide>
SIMT_DEVICE Quad load_quad(const Matrix& x, std::int64_t row, std::int64_t col) {
  Quad quad = {};
  if constexpr (kWide) {
    if (col < x.cols) quad = load_run<kQuad>(x, row, col);
  } else {
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n)
      if (col + n < x.cols) quad.values[n] = at(x, row, col + n);
  }
  return quad;
}
template <bool kWide>
SIMT_DEVICE void store_quad(const Matrix& y, std::int64_t row, std::int64_t col, const Quad& quad) {
  if constexpr (kWide) {
    if (col < y.cols) store_run(y, row, col, quad);
  } else {
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n)
      if (col + n < y.cols) at(y, row, col + n) = quad.values[n];
  }
}

/// Stores a quad as 16-bit values of the type.
SIMT_DEVICE void store_words(const WordMatrix& words, Half type, std::int64_t row, std::int64_t col, const Quad& quad) {
  const auto store = [&]<class Words>(Words) {
    simt::store_vector(&at(words, row, col / 2),
                       simt::Vector<std::uint32_t, 2>{{word_of(Words(), quad.values[0], quad.values[1]),
                                                       word_of(Words(), quad.values[2], quad.values[3])}});
  };
  if (type == Half::kF16)
    store(simt::F16());
  else
    store(simt::Bf16());
}

/// Returns true if runs of kWidth elements can be moved as vectors of up to 16 bytes in all rows. This depends on the
/// address, stride and columns of a matrix, and not on its number of rows.
template <int kWidth, class... Element>
bool are_wide(const View<Element>&... views) {
  const auto is_wide = []<class T>(const View<T>& view) {
    constexpr std::int64_t kRunBytes = kWidth * sizeof(T);
    constexpr std::int64_t kBytes = kRunBytes < 16 ? kRunBytes : 16;
    return view.data == nullptr ||
           (view.cols % kWidth == 0 && view.stride * static_cast<std::int64_t>(sizeof(T)) % kBytes == 0 &&
            reinterpret_cast<std::uintptr_t>(view.data) % kBytes == 0);
  };
  return (is_wide(views) && ...);
}

/// Returns true if quads can be moved as vectors in all rows, except for the last columns, which need not fill a quad.
inline bool rows_are_wide(const Matrix& x) {
  return are_wide<kQuad>(Matrix{x.data, x.rows, 0, x.stride});
}

template <int kWidth>
struct Width {};
/// Calls function(Width<kWidth>()) if `wide`, otherwise function(Width<1>()).
template <int kWidth, class Function>
void with_width(bool wide, const Function& function) {
  if (wide)
    function(Width<kWidth>());
  else
    function(Width<1>());
}

/// The distribution of threads over the rows and runs of a matrix. 2^lanes threads of a block process the same row.
struct Spread {
  simt::Grid grid;
  int lanes = 0;
  std::int64_t row_step = 0;
};
/// Returns a distribution in which at least 2^least_lanes threads process the same row.
inline Spread spread_over(std::int64_t rows, std::int64_t runs, int least_lanes = 0) {
  constexpr int kWarpLanes = 5;
  constexpr int kBlockLanes = 8;
  static_assert(1 << kWarpLanes == kWarp && 1 << kBlockLanes == kThreads);
  constexpr std::int64_t kMaxY = 65535;
  int lanes = least_lanes;
  while (lanes < kWarpLanes && (std::int64_t{1} << lanes) < runs) ++lanes;
  // A row that needs several warps gets the widest part of a block that leaves the fewest threads idle.
  const auto threads_of_row = [&](int n) { return blocks_of(runs, std::int64_t{1} << n) << n; };
  if (lanes == kWarpLanes)
    for (int more = kWarpLanes + 1; more <= kBlockLanes; ++more)
      if (threads_of_row(more) <= threads_of_row(lanes)) lanes = more;
  const std::int64_t rows_of_block = kThreads >> lanes;
  const std::int64_t row_blocks = blocks_of(rows, rows_of_block) < kMaxY ? blocks_of(rows, rows_of_block) : kMaxY;
  return {{blocks_of(runs, std::int64_t{1} << lanes), row_blocks}, lanes, row_blocks * rows_of_block};
}

/// Calls function(row, col) for each run of kWidth elements, where `col` is the column of the first element.
template <int kWidth, class Function>
struct ForEachRun {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t row_step;
  int lanes;
  Function function;

  SIMT_DEVICE void operator()() const {
    const int lane = simt::thread_index() & ((1 << lanes) - 1);
    const std::int64_t col = ((simt::block_index() << lanes) + lane) * kWidth;
    if (col >= cols) return;
    std::int64_t row = simt::block_index_y() * (kThreads >> lanes) + (simt::thread_index() >> lanes);
    for (; row < rows; row += row_step) function(row, col);
  }
};
template <int kWidth, class Function>
void for_each_run(std::int64_t rows, std::int64_t cols, const Function& function) {
  const Spread spread = spread_over(rows, blocks_of(cols, kWidth));
  simt::launch(spread.grid, kThreads, 0,
               ForEachRun<kWidth, Function>{rows, cols, spread.row_step, spread.lanes, function});
}
template <class Function>
void for_each_element(std::int64_t rows, std::int64_t cols, const Function& function) {
  for_each_run<1>(rows, cols, function);
}

/// Calls function(row, col) for each pair of quads. The first quad begins at column `col`, the second one kQuad * kWarp
/// columns later. The lanes of a warp have the same row and adjacent quads. All of them make the call, even if their
/// quads are beyond the last column.
template <class Function>
struct ForEachTwoQuads {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t row_step;
  int lanes;
  Function function;

  SIMT_DEVICE void operator()() const {
    const int lane = simt::thread_index() % kWarp;
    const int warp = (simt::thread_index() & ((1 << lanes) - 1)) / kWarp;
    const std::int64_t first = ((simt::block_index() << lanes) + warp * kWarp) * 2 * kQuad;
    if (first >= cols) return;
    std::int64_t row = simt::block_index_y() * (kThreads >> lanes) + (simt::thread_index() >> lanes);
    for (; row < rows; row += row_step) function(row, first + lane * kQuad);
  }
};
template <class Function>
void for_each_two_quads(std::int64_t rows, std::int64_t cols, const Function& function) {
  constexpr int kWarpLanes = 5;
  const Spread spread = spread_over(rows, blocks_of(cols, 2 * kQuad), kWarpLanes);
  simt::launch(spread.grid, kThreads, 0,
               ForEachTwoQuads<Function>{rows, cols, spread.row_step, spread.lanes, function});
}

}  // namespace dragoman::backend::cuda::device
