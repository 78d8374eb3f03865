#include "access.h"

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

struct Normalise {
  LayerNorm arguments;

  SIMT_DEVICE void operator()() const {
    const Matrix& x = arguments.x;
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(kWarps);
    const std::int64_t row = simt::block_index();
    const auto cols = static_cast<float>(x.cols);
    float sum = 0;
    if (arguments.centred)
      for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads) sum += at(x, row, j);
    const float mean = arguments.centred ? reduce_block(sum, Sum(), cells) / cols : 0;
    float squares = 0;
    for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads) {
      const float centred = at(x, row, j) - mean;
      squares += centred * centred;
    }
    const float variance = reduce_block(squares, Sum(), cells) / cols;
    const float inverse_deviation = 1 / sqrtf(variance + arguments.epsilon);
    for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads)
      at(arguments.y, row, j) = (at(x, row, j) - mean) * inverse_deviation * at(arguments.gain, 0, j) +
                                (arguments.centred ? at(arguments.bias, 0, j) : 0);
    if (simt::thread_index() != 0) return;
    if (arguments.mean.data != nullptr) at(arguments.mean, row, 0) = mean;
    if (arguments.inverse_deviation.data != nullptr) at(arguments.inverse_deviation, row, 0) = inverse_deviation;
  }
};

struct NormaliseBackward {
  LayerNormBackward arguments;

  SIMT_DEVICE void operator()() const {
    const Matrix& x = arguments.x;
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(kWarps);
    const std::int64_t row = simt::block_index();
    const bool centred = arguments.mean.data != nullptr;
    const float mean = centred ? at(arguments.mean, row, 0) : 0;
    const float inverse_deviation = at(arguments.inverse_deviation, row, 0);
    float sum = 0;
    float product_sum = 0;
    for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads) {
      const float g = at(arguments.dy, row, j) * at(arguments.gain, 0, j);
      sum += g;
      product_sum += g * (at(x, row, j) - mean) * inverse_deviation;
    }
    const auto cols = static_cast<float>(x.cols);
    const float g_mean = centred ? reduce_block(sum, Sum(), cells) / cols : 0;
    const float product_mean = reduce_block(product_sum, Sum(), cells) / cols;
    for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads) {
      const float g = at(arguments.dy, row, j) * at(arguments.gain, 0, j);
      const float normalised = (at(x, row, j) - mean) * inverse_deviation;
      put(arguments.dx.value, row, j, inverse_deviation * (g - g_mean - normalised * product_mean),
          arguments.dx.accumulate);
    }
  }
};

/// The sums of columns of term(row, col): a block for kWarp columns, of whose rows each warp takes every kWarps-th.
template <class Term>
struct SumColumns {
  std::int64_t rows;
  std::int64_t cols;
  Term term;
  Matrix y;
  bool accumulate;

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto sums = memory.take<float>(kThreads);
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::int64_t col = simt::block_index() * kWarp + lane;
    float sum = 0;
    if (col < cols)
      for (std::int64_t row = warp; row < rows; row += kWarps) sum += term(row, col);
    sums[simt::thread_index()] = sum;
    simt::barrier();
    if (warp != 0 || col >= cols) return;
    for (int i = 1; i < kWarps; ++i) sum += sums[i * kWarp + lane];
    put(y, 0, col, sum, accumulate);
  }
};
template <class Term>
void sum_columns(std::int64_t rows, std::int64_t cols, const Term& term, const Matrix& y, bool accumulate) {
  simt::launch({blocks_of(cols, kWarp)}, kThreads, kThreads * sizeof(float),
               SumColumns<Term>{rows, cols, term, y, accumulate});
}

struct Element {
  Matrix x;
  SIMT_DEVICE float operator()(std::int64_t row, std::int64_t col) const { return at(x, row, col); }
};
struct GainTerm {
  Matrix x, mean, inverse_deviation, dy;
  SIMT_DEVICE float operator()(std::int64_t row, std::int64_t col) const {
    const float centre = mean.data == nullptr ? 0 : at(mean, row, 0);
    return at(dy, row, col) * (at(x, row, col) - centre) * at(inverse_deviation, row, 0);
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
    float maximum = -INFINITY;
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads)
      maximum = fmaxf(maximum, at(logits, row, v));
    maximum = reduce_block(maximum, Maximum(), maxima);
    double exponentials = 0;
    double shifted = 0;
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads) {
      const float value = at(logits, row, v) - maximum;
      exponentials += expf(value);
      shifted += value;
    }
    const double log_sum = log(reduce_block(exponentials, Sum(), sums));
    shifted = reduce_block(shifted, Sum(), sums);
    const auto vocabulary = static_cast<double>(logits.cols);
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
void layer_norm(const LayerNorm& arguments) {
  for_each_row(arguments.x.rows, kCells, Normalise{arguments});
}
void layer_norm_backward(const LayerNormBackward& arguments) {
  const auto& [x, gain, mean, inverse_deviation, dy, dx, dgain, dbias] = arguments;
  if (dgain.value.data != nullptr)
    sum_columns(x.rows, x.cols, GainTerm{x, mean, inverse_deviation, dy}, dgain.value, dgain.accumulate);
  if (dbias.value.data != nullptr) sum_columns(x.rows, x.cols, Element{dy}, dbias.value, dbias.accumulate);
  if (dx.value.data != nullptr) for_each_row(x.rows, kCells, NormaliseBackward{arguments});
}
void column_sum(const Matrix& x, const Matrix& y, bool accumulate) {
  sum_columns(x.rows, x.cols, Element{x}, y, accumulate);
}
void cross_entropy_rows(const CrossEntropyRows& arguments) {
  for_each_row(arguments.logits.rows, 2 * kCells, CrossEntropy{arguments});
}

}  // namespace dragoman::backend::cuda::device
