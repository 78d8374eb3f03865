#include "activation.h"
#include "random.h"

// Prepares the gradient of a linear layer's output for the products that use it, in one pass.
namespace dragoman::backend::cuda::device {
namespace {

/// A block has kRowsOfColumnPart rows, or all rows if there are few, and kWarp quads of columns. A lane has one quad of
/// every kWarps-th row, so columns are summed in the order of column_sum(). If `kSimple`, the activation is none or
/// ReLU.
template <class Words, bool kWide, bool kSimple>
struct Differentiate {
  static constexpr int kAtOnce = kSimple ? 2 : 1;  ///< rows whose values are in flight together
  static constexpr int kColumns = kWarp * kQuad;
  Differentiation arguments;
  Target sums;
  std::int64_t rows_of_part;

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(kWarps * kColumns);
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::int64_t first_col = simt::block_index() * kColumns;
    const std::int64_t col = first_col + lane * kQuad;
    const std::int64_t part = simt::block_index_y();
    const std::int64_t end = least((part + 1) * rows_of_part, arguments.dy.rows);
    const bool activates = arguments.activation != ops::Activation::kNone;
    Quad own = {};
    for (std::int64_t first = part * rows_of_part + warp; first < end; first += kAtOnce * kWarps) {
      // Zeros beyond the last column, as words require.
      Quad dz[kAtOnce] = {};
      Quad known[kAtOnce] = {};
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const std::int64_t row = first + i * kWarps;
        if (row >= end) continue;
        dz[i] = load_quad<kWide>(arguments.dy, row, col);
        if (activates) known[i] = load_quad<kWide>(arguments.known, row, col);
      }
      SIMT_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const std::int64_t row = first + i * kWarps;
        if (row >= end) continue;
        if (activates) multiply_by_slope(row, col, known[i], dz[i]);
        store(row, col, dz[i]);
        SIMT_UNROLL
        for (int n = 0; n < kQuad; ++n) own.values[n] += dz[i].values[n];
      }
    }
    if (sums.value.data == nullptr) return;
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) cells[warp * kColumns + lane * kQuad + n] = own.values[n];
    simt::barrier();
    const int column = simt::thread_index();
    if (column >= kColumns || first_col + column >= arguments.dy.cols) return;
    float sum = cells[column];
    for (int w = 1; w < kWarps; ++w) sum += cells[w * kColumns + column];
    put(sums.value, part, first_col + column, sum, sums.accumulate);
  }

 private:
  SIMT_DEVICE void multiply_by_slope(std::int64_t row, std::int64_t col, const Quad& known, Quad& dz) const {
    if (kSimple || arguments.activation == ops::Activation::kRelu) {
      // The output of a dropout is above zero where it was kept and the ReLU let it pass.
      SIMT_UNROLL
      for (int n = 0; n < kQuad; ++n) dz.values[n] *= known.values[n] > 0 ? arguments.dropout.scale : 0;
      return;
    }
    if constexpr (!kSimple) {
      if (arguments.dropout.threshold > 0) drop(row, col, dz);
      apply_slope(arguments.activation, known, known, dz);
    }
  }
  SIMT_DEVICE void drop(std::int64_t row, std::int64_t col, Quad& dz) const {
    const std::int64_t element = row * arguments.dy.cols + col;
    Quad factors;
    if constexpr (kWide) {
      factors = DropoutMask(arguments.dropout).factors(element);
    } else {
      SIMT_UNROLL
      for (int n = 0; n < kQuad; ++n) factors.values[n] = dropout_factor(arguments.dropout, element + n);
    }
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) dz.values[n] *= factors.values[n];
  }
  SIMT_DEVICE void store(std::int64_t row, std::int64_t col, const Quad& dz) const {
    if (col / 2 < arguments.words.cols)
      simt::store_vector(&at(arguments.words, row, col / 2),
                         simt::Vector<std::uint32_t, 2>{{word_of(Words(), dz.values[0], dz.values[1]),
                                                         word_of(Words(), dz.values[2], dz.values[3])}});
    if (arguments.dz.data != nullptr) store_quad<kWide>(arguments.dz, row, col, dz);
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
  const auto launch = [&]<class Kernel>(Kernel kernel) {
    simt::launch({blocks_of(cols, Kernel::kColumns), parts}, kThreads, kWarps * Kernel::kColumns * sizeof(float),
                 kernel);
  };
  const Target to = in_parts ? Target{partial, false} : sums;
  const std::int64_t rows_of_part = parts > 1 ? kRowsOfColumnPart : most(rows, 1);
  const bool wide = are_wide<kQuad>(arguments.dy, arguments.known, arguments.dz);
  const bool simple = arguments.activation == ops::Activation::kNone || arguments.activation == ops::Activation::kRelu;
  with_words(arguments.type, [&]<class Words>(Words) {
    if (wide && simple)
      launch(Differentiate<Words, true, true>{arguments, to, rows_of_part});
    else if (wide)
      launch(Differentiate<Words, true, false>{arguments, to, rows_of_part});
    else
      launch(Differentiate<Words, false, false>{arguments, to, rows_of_part});
  });
  if (in_parts) column_sum(partial, sums.value, sums.accumulate, arguments.partial + parts * cols);
}

}  // namespace dragoman::backend::cuda::device
