#include "elements.h"

#include <cmath>

// The loss of rows of logits. The first kernel reads a row for its maximum and sums. The second kernel turns logits
// into their gradient. It works on tiles of rows and columns, so that it also sums columns. It writes the gradient in
// the layout of the products that read it.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kAtOnce = 2;  ///< loads of four logits that are in flight together

/// Returns the values of columns [col, col + 4) of a row; `beyond` for columns that do not exist.
SIMT_DEVICE Quad quad_of(const Matrix& x, bool wide, std::int64_t row, std::int64_t col, float beyond) {
  if (wide && col + kQuad <= x.cols) return load_run<kQuad>(x, row, col);
  Quad quad;
  SIMT_UNROLL
  for (int i = 0; i < kQuad; ++i) quad.values[i] = col + i < x.cols ? at(x, row, col + i) : beyond;
  return quad;
}

/// One block for each row.
struct RowLoss {
  CrossEntropyRows arguments;
  bool wide;

  /// The maximum and the sums of the logits that a thread has read. Exponentials are relative to `maximum`.
  struct Seen {
    float maximum = -INFINITY;
    double exponentials = 0;
    double sum = 0;

    /// Scales the previous exponentials down if a larger value occurs (Milakov & Gimelshein 2018). The exponentials of
    /// four values are added as floats, and these sums in double precision, like all sums of a loss.
    SIMT_DEVICE void add(const Quad& four, int count) {
      float largest = -INFINITY;
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) largest = fmaxf(largest, four.values[i]);
      if (largest > maximum) {
        exponentials *= expf(maximum - largest);
        maximum = largest;
      }
      const float base = maximum == -INFINITY ? 0 : maximum;  // NaN must come from the logits, never from -inf - -inf
      float added = 0;
      float total = 0;
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) {
        added += expf(four.values[i] - base);
        total += i < count ? four.values[i] : 0;
      }
      exponentials += added;
      sum += total;
    }
  };

  SIMT_DEVICE void operator()() const {
    const Matrix& logits = arguments.logits;
    simt::SharedMemory memory;
    const auto maxima = memory.take<float>(kWarps);
    const auto sums = memory.take<double>(kWarps);
    const std::int64_t row = simt::block_index();
    const std::int32_t target = arguments.targets.data[row];
    if (target < 0) {  // does not count
      if (simt::thread_index() == 0) arguments.losses[row] = arguments.nlls[row] = 0;
      return;
    }
    Seen seen;
    for (std::int64_t first = 4 * simt::thread_index(); first < logits.cols; first += kAtOnce * 4 * kThreads) {
      Quad four[kAtOnce];
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i) four[i] = quad_of(logits, wide, row, first + i * 4 * kThreads, -INFINITY);
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i)
        seen.add(four[i], static_cast<int>(least(4, logits.cols - first - i * 4 * kThreads)));
    }
    const float maximum = reduce_block(seen.maximum, Maximum(), maxima);
    if (seen.maximum != maximum && seen.maximum != -INFINITY) seen.exponentials *= expf(seen.maximum - maximum);
    const double exponentials = reduce_block(seen.exponentials, Sum(), sums);
    const double sum = reduce_block(seen.sum, Sum(), sums);
    if (simt::thread_index() != 0) return;
    const double log_sum = log(exponentials);
    const auto vocabulary = static_cast<double>(logits.cols);
    const double shifted = sum - vocabulary * maximum;
    const double smoothing = arguments.label_smoothing;
    const double nll = log_sum - (at(logits, row, target) - maximum);
    arguments.nlls[row] = nll;
    arguments.losses[row] = (1 - smoothing) * nll + smoothing * (log_sum - shifted / vocabulary);
    if (arguments.statistics != nullptr) arguments.statistics[row] = {maximum, static_cast<float>(log_sum)};
  }
};

/// A block has `rows_of_part` rows and 4 kWarp columns. A lane has four columns in every kWarps-th row, so columns are
/// summed in the order of column_sum().
template <class Words>
struct LossGradient {
  CrossEntropyRows arguments;
  Target sums;
  std::int64_t rows_of_part;
  bool wide;
  float everywhere;  ///< target probability of each token
  float on_target;   ///< additional target probability of the target

  SIMT_DEVICE void operator()() const {
    constexpr int kCols = 4 * kWarp;
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(4 * kThreads);
    const Matrix& logits = arguments.logits;
    const std::int64_t first_col = simt::block_index() * kCols;
    const std::int64_t col = first_col + 4 * (simt::thread_index() % kWarp);
    const std::int64_t part = simt::block_index_y();
    const std::int64_t end = least((part + 1) * rows_of_part, logits.rows);
    const auto scale = static_cast<float>(*arguments.gradient_scale);
    float added[4] = {};
    for (std::int64_t first = part * rows_of_part + simt::thread_index() / kWarp; first < end;
         first += kAtOnce * kWarps) {
      Quad four[kAtOnce] = {};
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i)
        if (first + i * kWarps < end) four[i] = quad_of(logits, wide, first + i * kWarps, col, -INFINITY);
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const std::int64_t row = first + i * kWarps;
        if (row >= end) break;
        const std::int32_t target = arguments.targets.data[row];
        const RowStatistics statistics = target < 0 ? RowStatistics{} : arguments.statistics[row];
        SIMT_UNROLL
        for (int j = 0; j < 4; ++j) {
          float& value = four[i].values[j];
          const float p = expf(value - statistics.maximum - statistics.log_sum);
          const float wanted = everywhere + (col + j == target ? on_target : 0);
          // Rows without a target do not count, and words contain zeros beyond the last column.
          value = target < 0 || col + j >= logits.cols ? 0 : scale * (p - wanted);
          added[j] += value;
        }
        put_four(row, col, four[i]);
      }
    }
    if (sums.value.data == nullptr) return;
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) cells[4 * simt::thread_index() + j] = added[j];
    simt::barrier();
    const int own = simt::thread_index();
    if (own >= kCols || first_col + own >= logits.cols) return;
    float sum = cells[own];
    for (int warp = 1; warp < kWarps; ++warp) sum += cells[warp * kCols + own];
    put(sums.value, part, first_col + own, sum, sums.accumulate);
  }

  SIMT_DEVICE void put_four(std::int64_t row, std::int64_t col, const Quad& four) const {
    const auto& [a, b, c, d] = four.values;
    if (arguments.words.data != nullptr) {
      if (col / 2 >= arguments.words.cols) return;
      simt::store_vector(&at(arguments.words, row, col / 2),
                         simt::Vector<std::uint32_t, 2>{{word_of(Words(), a, b), word_of(Words(), c, d)}});
      return;
    }
    float* const to = &at(arguments.logits, row, col);
    if (wide && col + 4 <= arguments.logits.cols) return store_run(arguments.logits, row, col, four);
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j)
      if (col + j < arguments.logits.cols) to[j] = four.values[j];
  }
};

void gradient_of_loss(const CrossEntropyRows& arguments) {
  constexpr int kCols = 4 * kWarp;
  const std::int64_t rows = arguments.logits.rows;
  const std::int64_t cols = arguments.logits.cols;
  const Target& sums = arguments.sums;
  const std::int64_t parts = column_parts(rows);
  const bool in_parts = sums.value.data != nullptr && parts > 1;
  const Matrix partial{arguments.partial, parts, cols, cols};
  with_words(arguments.type, [&]<class Words>(Words) {
    const LossGradient<Words> kernel{
        .arguments = arguments,
        .sums = in_parts ? Target{partial, false} : sums,
        .rows_of_part = parts > 1 ? kRowsOfColumnPart : most(rows, 1),
        .wide = rows_are_wide(arguments.logits),
        .everywhere = static_cast<float>(arguments.label_smoothing / static_cast<double>(cols)),
        .on_target = static_cast<float>(1 - arguments.label_smoothing)};
    simt::launch({blocks_of(most(cols, 2 * arguments.words.cols), kCols), parts}, kThreads,
                 4 * kThreads * sizeof(float), kernel);
  });
  if (in_parts) column_sum(partial, sums.value, sums.accumulate, arguments.partial + parts * cols);
}

}  // namespace

void cross_entropy_rows(const CrossEntropyRows& arguments) {
  for_each_row(arguments.logits.rows, kWarps * (sizeof(float) + sizeof(double)),
               RowLoss{arguments, rows_are_wide(arguments.logits)});
  if (arguments.gradient_scale != nullptr && arguments.logits.rows > 0) gradient_of_loss(arguments);
}

}  // namespace dragoman::backend::cuda::device
