#include "activation.h"

// What the gradient of a linear layer's output becomes before products take it, in one pass over it.
namespace dragoman::backend::cuda::device {
namespace {

/// A block has kRowsOfColumnPart rows, or all of a few, and 2 kWarp columns. A lane has a word's two of every kWarps-th
/// row, so columns are added up in the order of column_sum().
template <class Words>
struct Differentiate {
  static constexpr int kAtOnce = 2;  ///< rows whose numbers are on their way together
  Differentiation arguments;
  Target sums;
  std::int64_t rows_of_part;

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(2 * kThreads);
    const std::int64_t rows = arguments.dy.rows;
    const std::int64_t word = simt::block_index() * kWarp + simt::thread_index() % kWarp;
    const std::int64_t part = simt::block_index_y();
    const std::int64_t end = least((part + 1) * rows_of_part, rows);
    float low_sum = 0;
    float high_sum = 0;
    for (std::int64_t first = part * rows_of_part + simt::thread_index() / kWarp; first < end;
         first += kAtOnce * kWarps) {
      Pair dy[kAtOnce];
      Pair known[kAtOnce];
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const std::int64_t row = first + i * kWarps;
        dy[i] = pair(arguments.dy, row, word, end);
        if (arguments.activation != ops::Activation::kNone) known[i] = pair(arguments.known, row, word, end);
      }
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const std::int64_t row = first + i * kWarps;
        if (row >= end) break;
        const float low = dy[i].low * slope(arguments.activation, known[i].low, known[i].low);
        const float high = dy[i].high * slope(arguments.activation, known[i].high, known[i].high);
        store(row, word, low, high);
        low_sum += low;
        high_sum += high;
      }
    }
    if (sums.value.data == nullptr) return;
    cells[2 * simt::thread_index()] = low_sum;
    cells[2 * simt::thread_index() + 1] = high_sum;
    simt::barrier();
    const int own = simt::thread_index();
    const std::int64_t col = simt::block_index() * 2 * kWarp + own;
    if (own >= 2 * kWarp || col >= arguments.dy.cols) return;
    float sum = cells[own];
    for (int warp = 1; warp < kWarps; ++warp) sum += cells[warp * 2 * kWarp + own];
    put(sums.value, part, col, sum, sums.accumulate);
  }

  struct Pair {
    float low = 0;
    float high = 0;
  };
  /// Zeros beyond the last column, as words have them.
  SIMT_DEVICE static Pair pair(const Matrix& x, std::int64_t row, std::int64_t word, std::int64_t end) {
    const std::int64_t col = 2 * word;
    if (row >= end) return {};
    return {col < x.cols ? at(x, row, col) : 0, col + 1 < x.cols ? at(x, row, col + 1) : 0};
  }
  SIMT_DEVICE void store(std::int64_t row, std::int64_t word, float low, float high) const {
    if (word < arguments.words.cols) at(arguments.words, row, word) = word_of(Words(), low, high);
    if (arguments.dz.data == nullptr) return;
    if (2 * word < arguments.dz.cols) at(arguments.dz, row, 2 * word) = low;
    if (2 * word + 1 < arguments.dz.cols) at(arguments.dz, row, 2 * word + 1) = high;
  }
};

}  // namespace

void differentiate(const Differentiation& arguments) {
  const std::int64_t rows = arguments.dy.rows;
  const std::int64_t cols = arguments.dy.cols;
  const Target& sums = arguments.sums;
  const std::int64_t parts = column_parts(rows);
  const bool in_parts = sums.value.data != nullptr && parts > 1;
  const Matrix partial{arguments.partial, parts, cols, cols};
  with_words(arguments.type, [&]<class Words>(Words) {
    const std::int64_t rows_of_part = parts > 1 ? kRowsOfColumnPart : most(rows, 1);
    simt::launch({blocks_of(cols, 2 * kWarp), parts}, kThreads, 2 * kThreads * sizeof(float),
                 Differentiate<Words>{arguments, in_parts ? Target{partial, false} : sums, rows_of_part});
  });
  if (in_parts) column_sum(partial, sums.value, sums.accumulate, arguments.partial + parts * cols);
}

}  // namespace dragoman::backend::cuda::device
