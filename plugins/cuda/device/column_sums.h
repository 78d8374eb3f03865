#pragma once

#include "elements.h"

namespace dragoman::backend::cuda::device {

/// Sums columns of kTerms terms. A block sums `rows_of_part` rows of kWarp quads of columns. Each of its warps takes
/// every kWarps-th row. The sums are stored in row `part` of the targets. `Terms` loads the contributions of a row to a
/// quad's sums, and loads kAtOnce rows before it adds the first one.
template <class Terms, bool kWide>
struct SumColumns {
  static constexpr int kColumns = kWarp * kQuad;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rows_of_part;
  Terms terms;
  Target targets[Terms::kTerms];

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(Terms::kTerms * kWarps * kColumns);
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::int64_t first_col = simt::block_index() * kColumns;
    const std::int64_t part = simt::block_index_y();
    const std::int64_t end = least((part + 1) * rows_of_part, rows);
    Quad sums[Terms::kTerms] = {};
    for (std::int64_t first = part * rows_of_part + warp; first < end; first += Terms::kAtOnce * kWarps) {
      typename Terms::Loaded loaded[Terms::kAtOnce] = {};
      SIMT_UNROLL
      for (int i = 0; i < Terms::kAtOnce; ++i)
        if (first + i * kWarps < end)
          loaded[i] = terms.template load<kWide>(first + i * kWarps, first_col + lane * kQuad);
      SIMT_UNROLL
      for (int i = 0; i < Terms::kAtOnce; ++i) terms.add(loaded[i], sums);
    }
    SIMT_UNROLL
    for (int i = 0; i < Terms::kTerms; ++i) SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) cells[(i * kWarps + warp) * kColumns + lane * kQuad + n] = sums[i].values[n];
    simt::barrier();
    const int own = simt::thread_index();
    if (own >= kColumns || first_col + own >= cols) return;
    SIMT_UNROLL
    for (int i = 0; i < Terms::kTerms; ++i) {
      if (targets[i].value.data == nullptr) continue;
      float sum = cells[i * kWarps * kColumns + own];
      for (int w = 1; w < kWarps; ++w) sum += cells[(i * kWarps + w) * kColumns + own];
      put(targets[i].value, part, first_col + own, sum, targets[i].accumulate);
    }
  }
};
static_assert(kWarp * kQuad <= kThreads);

template <class Terms>
void sum_parts(std::int64_t rows, std::int64_t cols, std::int64_t rows_of_part, bool wide, const Terms& terms,
               const Target (&targets)[Terms::kTerms]) {
  const auto sum = [&]<class Kernel>(Kernel kernel) {
    for (int i = 0; i < Terms::kTerms; ++i) kernel.targets[i] = targets[i];
    simt::launch({blocks_of(cols, Kernel::kColumns), blocks_of(most(rows, 1), rows_of_part)}, kThreads,
                 Terms::kTerms * kWarps * Kernel::kColumns * sizeof(float), kernel);
  };
  if (wide)
    sum(SumColumns<Terms, true>{rows, cols, rows_of_part, terms, {}});
  else
    sum(SumColumns<Terms, false>{rows, cols, rows_of_part, terms, {}});
}

/// Sums all rows of x in one part.
void sum_rows(const Matrix& x, const Target& sums);

/// Sums many rows in parts and then sums the parts. Each part has a row of `partial`, which has kTerms *
/// column_parts(rows) rows of `cols` values. `wide` is true if the inputs of the terms can be loaded as vectors.
template <class Terms>
void sum_columns(std::int64_t rows, std::int64_t cols, bool wide, const Terms& terms,
                 const Target (&targets)[Terms::kTerms], float* partial) {
  const std::int64_t parts = column_parts(rows);
  if (parts == 1) return sum_parts(rows, cols, most(rows, 1), wide, terms, targets);
  Target of_parts[Terms::kTerms] = {};
  for (int i = 0; i < Terms::kTerms; ++i)
    if (targets[i].value.data != nullptr) of_parts[i] = {{partial + i * parts * cols, parts, cols, cols}, false};
  sum_parts(rows, cols, kRowsOfColumnPart, wide, terms, of_parts);
  for (int i = 0; i < Terms::kTerms; ++i)
    if (of_parts[i].value.data != nullptr) sum_rows(of_parts[i].value, targets[i]);
}

}  // namespace dragoman::backend::cuda::device
