#include "column_sums.h"

#include <cmath>

namespace dragoman::backend::cuda::device {
namespace {

/// Shared memory that a reduction takes.
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
    const bool nothing = maximum == -INFINITY;  // then no value lies above it, and all stay what they are
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

struct CrossEntropy {
  CrossEntropyRows arguments;

  SIMT_DEVICE void operator()() const {
    const Matrix& logits = arguments.logits;
    simt::SharedMemory memory;
    const auto maxima = memory.take<float>(kWarps);
    const auto sums = memory.take<double>(kWarps);
    const std::int64_t row = simt::block_index();
    const std::int32_t target = arguments.targets.data[row];
    const bool gradient = arguments.gradient_scale != nullptr;
    if (target < 0) {  // does not count
      if (simt::thread_index() == 0) arguments.losses[row] = arguments.nlls[row] = 0;
      if (gradient)
        for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads) at(logits, row, v) = 0;
      return;
    }
    // One pass: what was added up goes down where a larger number comes (Milakov & Gimelshein 2018).
    float own_maximum = -INFINITY;
    double exponentials = 0;
    double sum = 0;
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads) {
      const float value = at(logits, row, v);
      sum += value;
      if (value > own_maximum) {
        exponentials = exponentials * expf(own_maximum - value) + 1;
        own_maximum = value;
      } else if (value != -INFINITY) {
        exponentials += expf(value - own_maximum);
      }
    }
    const float maximum = reduce_block(own_maximum, Maximum(), maxima);
    if (own_maximum != maximum && own_maximum != -INFINITY) exponentials *= expf(own_maximum - maximum);
    const double log_sum = log(reduce_block(exponentials, Sum(), sums));
    const auto vocabulary = static_cast<double>(logits.cols);
    const double shifted = reduce_block(sum, Sum(), sums) - vocabulary * maximum;
    const double smoothing = arguments.label_smoothing;
    // Read by all before one of them overwrites it.
    const float target_logit = at(logits, row, target);
    simt::barrier();
    if (simt::thread_index() == 0) {
      const double nll = log_sum - (target_logit - maximum);
      arguments.nlls[row] = nll;
      arguments.losses[row] = (1 - smoothing) * nll + smoothing * (log_sum - shifted / vocabulary);
    }
    if (!gradient) return;
    const double scale = *arguments.gradient_scale;
    const auto everywhere = static_cast<float>(smoothing / vocabulary);
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads) {
      const float p = expf(at(logits, row, v) - maximum - static_cast<float>(log_sum));
      const float wanted = everywhere + (v == target ? static_cast<float>(1 - smoothing) : 0);
      at(logits, row, v) = static_cast<float>(scale) * (p - wanted);
    }
  }
};

}  // namespace

void softmax(const Matrix& x, bool logarithm, std::int64_t causal_offset, const Matrix& y) {
  for_each_row(x.rows, kCells, Softmax{x, logarithm, causal_offset, y});
}
void softmax_backward(const Matrix& y, bool logarithm, const Matrix& dy, const Target& dx) {
  for_each_row(y.rows, kCells, SoftmaxBackward{y, logarithm, dy, dx});
}
void column_sum(const Matrix& x, const Matrix& y, bool accumulate, float* partial) {
  sum_columns(x.rows, x.cols, are_wide<kQuad>(x), Element{x}, {{y, accumulate}}, partial);
}
void cross_entropy_rows(const CrossEntropyRows& arguments) {
  for_each_row(arguments.logits.rows, 2 * kCells, CrossEntropy{arguments});
}

}  // namespace dragoman::backend::cuda::device
