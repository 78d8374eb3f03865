#include "column_sums.h"

#include <cmath>

namespace dragoman::backend::cuda::device {
namespace {

/// The size of shared memory for a reduction.
constexpr std::size_t kCells = kWarps * sizeof(double);

struct Softmax {
  Matrix x;
  bool logarithm;
  std::int64_t causal_offset;
  Matrix y;

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(kWarps);
    const std::int64_t row = simt::block_index();
    const std::int64_t visible = causal_offset < 0 ? x.cols : least(x.cols, row + causal_offset + 1);
    float maximum = -INFINITY;
    for (std::int64_t j = simt::thread_index(); j < visible; j += kThreads) maximum = fmaxf(maximum, at(x, row, j));
    maximum = reduce_block(maximum, Maximum(), cells);
    float sum = 0;
    for (std::int64_t j = simt::thread_index(); j < visible; j += kThreads) sum += expf(at(x, row, j) - maximum);
    sum = reduce_block(sum, Sum(), cells);
    const float log_sum = logf(sum);
    const bool nothing = maximum == -INFINITY;  // then all values are -infinity and stay unchanged
    for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads) {
      float value = 0;
      if (j < visible) {
        const float log_p = nothing ? at(x, row, j) : (at(x, row, j) - maximum) - log_sum;
        value = logarithm ? log_p : expf(log_p);
      }
      at(y, row, j) = value;
    }
  }
};

struct SoftmaxBackward {
  Matrix y;
  bool logarithm;
  Matrix dy;
  Target dx;

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(kWarps);
    const std::int64_t row = simt::block_index();
    float sum = 0;
    for (std::int64_t j = simt::thread_index(); j < y.cols; j += kThreads)
      sum += logarithm ? at(dy, row, j) : at(dy, row, j) * at(y, row, j);
    sum = reduce_block(sum, Sum(), cells);
    for (std::int64_t j = simt::thread_index(); j < y.cols; j += kThreads) {
      const float out = at(y, row, j);
      const float in = at(dy, row, j);
      put(dx.value, row, j, logarithm ? in - expf(out) * sum : out * (in - sum), dx.accumulate);
    }
  }
};

struct Element {
  static constexpr int kTerms = 1;
  static constexpr int kAtOnce = 8;
  using Loaded = Quad;
  Matrix x;

  template <bool kWide>
  SIMT_DEVICE Loaded load(std::int64_t row, std::int64_t col) const {
    return load_quad<kWide>(x, row, col);
  }
  SIMT_DEVICE static void add(const Loaded& loaded, Quad (&sums)[kTerms]) {
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) sums[0].values[n] += loaded.values[n];
  }
};

}  // namespace

void softmax(const Matrix& x, bool logarithm, std::int64_t causal_offset, const Matrix& y) {
  for_each_row(x.rows, kCells, Softmax{x, logarithm, causal_offset, y});
}
void softmax_backward(const Matrix& y, bool logarithm, const Matrix& dy, const Target& dx) {
  for_each_row(y.rows, kCells, SoftmaxBackward{y, logarithm, dy, dx});
}
void sum_rows(const Matrix& x, const Target& sums) {
  sum_parts(x.rows, x.cols, most(x.rows, 1), are_wide<kQuad>(x), Element{x}, {sums});
}
void column_sum(const Matrix& x, const Matrix& y, bool accumulate, float* partial) {
  sum_columns(x.rows, x.cols, are_wide<kQuad>(x), Element{x}, {{y, accumulate}}, partial);
}

}  // namespace dragoman::backend::cuda::device
