#include "random.h"

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

/// f(column, place) for each column of the lane that is in registers. A warp has a row, and each of its lanes every
/// 32nd element, of which kKept are in registers; those of wider rows are read again.
template <int kKept, class Function>
SIMT_DEVICE void for_each_kept(std::int64_t cols, const Function& f) {
  SIMT_UNROLL
  for (int i = 0; i < kKept; ++i) {
    const std::int64_t j = i * kWarp + simt::thread_index() % kWarp;
    if (j < cols) f(j, i);
  }
}
template <int kKept, class Function>
SIMT_DEVICE void for_each_other(std::int64_t cols, const Function& f) {
  for (std::int64_t j = kKept * kWarp + simt::thread_index() % kWarp; j < cols; j += kWarp) f(j);
}
/// A warp for each row, which keeps as few elements as suffice for the width: more registers are fewer warps.
template <template <int> class Kernel, class... Arguments>
void for_each_row_of_warps(const Matrix& x, const Arguments&... arguments) {
  const simt::Grid grid{blocks_of(x.rows, kWarps)};
  if (x.cols <= 16 * kWarp)
    simt::launch(grid, kThreads, 0, Kernel<16>{arguments...});
  else
    simt::launch(grid, kThreads, 0, Kernel<32>{arguments...});
}

template <int kKept>
struct Normalise {
  LayerNorm arguments;
  ResidualSum residual;

  SIMT_DEVICE void operator()() const {
    const std::int64_t row = simt::block_index() * kWarps + simt::thread_index() / kWarp;
    const Matrix& x = arguments.x;
    if (row >= x.rows) return;
    const auto value_of = [&](std::int64_t j) {
      if (residual.residual.data == nullptr) return at(x, row, j);
      const float sum =
          at(residual.residual, row, j) + dropout_factor(residual.dropout, row * x.cols + j) * at(x, row, j);
      at(residual.sum, row, j) = sum;
      return sum;
    };
    const auto again = [&](std::int64_t j) {
      return residual.residual.data == nullptr ? at(x, row, j) : at(residual.sum, row, j);
    };
    float own[kKept];
    float sum = 0;
    for_each_kept<kKept>(x.cols, [&](std::int64_t j, int i) { sum += own[i] = value_of(j); });
    for_each_other<kKept>(x.cols, [&](std::int64_t j) { sum += value_of(j); });
    const auto cols = static_cast<float>(x.cols);
    const float mean = arguments.centred ? reduce_warp(sum, Sum()) / cols : 0;
    float squares = 0;
    for_each_kept<kKept>(x.cols, [&](std::int64_t, int i) { squares += (own[i] - mean) * (own[i] - mean); });
    for_each_other<kKept>(x.cols, [&](std::int64_t j) { squares += (again(j) - mean) * (again(j) - mean); });
    const float variance = reduce_warp(squares, Sum()) / cols;
    const float inverse_deviation = 1 / sqrtf(variance + arguments.epsilon);
    const auto finish = [&](std::int64_t j, float value) {
      at(arguments.y, row, j) = (value - mean) * inverse_deviation * at(arguments.gain, 0, j) +
                                (arguments.centred ? at(arguments.bias, 0, j) : 0);
    };
    for_each_kept<kKept>(x.cols, [&](std::int64_t j, int i) { finish(j, own[i]); });
    for_each_other<kKept>(x.cols, [&](std::int64_t j) { finish(j, again(j)); });
    if (simt::thread_index() % kWarp != 0) return;
    if (arguments.mean.data != nullptr) at(arguments.mean, row, 0) = mean;
    if (arguments.inverse_deviation.data != nullptr) at(arguments.inverse_deviation, row, 0) = inverse_deviation;
  }
};

template <int kKept>
struct NormaliseBackward {
  LayerNormBackward arguments;

  SIMT_DEVICE void operator()() const {
    const std::int64_t row = simt::block_index() * kWarps + simt::thread_index() / kWarp;
    const Matrix& x = arguments.x;
    if (row >= x.rows) return;
    const bool centred = arguments.mean.data != nullptr;
    const float mean = centred ? at(arguments.mean, row, 0) : 0;
    const float inverse_deviation = at(arguments.inverse_deviation, row, 0);
    // Of each element what its gradient is made of.
    float gradients[kKept];
    float normals[kKept];
    const auto gradient_of = [&](std::int64_t j) { return at(arguments.dy, row, j) * at(arguments.gain, 0, j); };
    const auto normal_of = [&](std::int64_t j) { return (at(x, row, j) - mean) * inverse_deviation; };
    float sum = 0;
    float product_sum = 0;
    for_each_kept<kKept>(x.cols, [&](std::int64_t j, int i) {
      gradients[i] = gradient_of(j);
      normals[i] = normal_of(j);
      sum += gradients[i];
      product_sum += gradients[i] * normals[i];
    });
    for_each_other<kKept>(x.cols, [&](std::int64_t j) {
      sum += gradient_of(j);
      product_sum += gradient_of(j) * normal_of(j);
    });
    const auto cols = static_cast<float>(x.cols);
    const float g_mean = centred ? reduce_warp(sum, Sum()) / cols : 0;
    const float product_mean = reduce_warp(product_sum, Sum()) / cols;
    const auto finish = [&](std::int64_t j, float gradient, float normal) {
      float g = inverse_deviation * (gradient - g_mean - normal * product_mean);
      if (arguments.dsum.data != nullptr) g += at(arguments.dsum, row, j);
      if (arguments.dresidual.value.data != nullptr)
        put(arguments.dresidual.value, row, j, g, arguments.dresidual.accumulate);
      if (arguments.dx.value.data != nullptr)
        put(arguments.dx.value, row, j, dropout_factor(arguments.dropout, row * x.cols + j) * g,
            arguments.dx.accumulate);
    };
    for_each_kept<kKept>(x.cols, [&](std::int64_t j, int i) { finish(j, gradients[i], normals[i]); });
    for_each_other<kKept>(x.cols, [&](std::int64_t j) { finish(j, gradient_of(j), normal_of(j)); });
  }
};

/// The sums of columns of kTerms terms, in two stages: a block adds up kRowsOfPart rows of kWarp columns, of which each
/// warp takes every kWarps-th, to a row of `partial`; a block of the second stage adds those up in the same way.
template <class Terms>
struct SumColumns {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rows_of_part;
  Terms terms;
  Target targets[Terms::kTerms];

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto sums = memory.take<float>(Terms::kTerms * kThreads);
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::int64_t col = simt::block_index() * kWarp + lane;
    const std::int64_t part = simt::block_index_y();
    const std::int64_t end = least((part + 1) * rows_of_part, rows);
    float own[Terms::kTerms] = {};
    if (col < cols)
      for (std::int64_t row = part * rows_of_part + warp; row < end; row += kWarps) terms(row, col, own);
    for (int i = 0; i < Terms::kTerms; ++i) sums[i * kThreads + simt::thread_index()] = own[i];
    simt::barrier();
    if (warp != 0 || col >= cols) return;
    for (int i = 0; i < Terms::kTerms; ++i) {
      if (targets[i].value.data == nullptr) continue;
      for (int w = 1; w < kWarps; ++w) own[i] += sums[i * kThreads + w * kWarp + lane];
      put(targets[i].value, part, col, own[i], targets[i].accumulate);
    }
  }
};
template <class Terms>
void sum_parts(std::int64_t rows, std::int64_t cols, std::int64_t rows_of_part, const SumColumns<Terms>& kernel) {
  simt::launch({blocks_of(cols, kWarp), blocks_of(most(rows, 1), rows_of_part)}, kThreads,
               Terms::kTerms * kThreads * sizeof(float), kernel);
}

struct Element {
  static constexpr int kTerms = 1;
  Matrix x;
  SIMT_DEVICE void operator()(std::int64_t row, std::int64_t col, float (&sums)[kTerms]) const {
    sums[0] += at(x, row, col);
  }
};
/// Of gain and bias.
struct NormTerms {
  static constexpr int kTerms = 2;
  Matrix x, mean, inverse_deviation, dy;
  SIMT_DEVICE void operator()(std::int64_t row, std::int64_t col, float (&sums)[kTerms]) const {
    const float centre = mean.data == nullptr ? 0 : at(mean, row, 0);
    const float gradient = at(dy, row, col);
    sums[0] += gradient * (at(x, row, col) - centre) * at(inverse_deviation, row, 0);
    sums[1] += gradient;
  }
};

/// `partial`: kTerms * column_parts(rows) * cols numbers.
template <class Terms>
void sum_columns(std::int64_t rows, std::int64_t cols, const Terms& terms, const Target (&targets)[Terms::kTerms],
                 float* partial) {
  const std::int64_t parts = column_parts(rows);
  SumColumns<Terms> first{rows, cols, most(rows, 1), terms, {}};
  for (int i = 0; i < Terms::kTerms; ++i) first.targets[i] = targets[i];
  if (parts == 1) return sum_parts(rows, cols, first.rows_of_part, first);
  first.rows_of_part = kRowsOfColumnPart;
  for (int i = 0; i < Terms::kTerms; ++i)
    if (targets[i].value.data != nullptr) first.targets[i] = {{partial + i * parts * cols, parts, cols, cols}, false};
  sum_parts(rows, cols, first.rows_of_part, first);
  for (int i = 0; i < Terms::kTerms; ++i)
    if (targets[i].value.data != nullptr)
      sum_parts(parts, cols, parts, SumColumns<Element>{parts, cols, parts, {first.targets[i].value}, {targets[i]}});
}

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
void layer_norm(const LayerNorm& arguments, const ResidualSum& residual) {
  for_each_row_of_warps<Normalise>(arguments.x, arguments, residual);
}
void layer_norm_backward(const LayerNormBackward& arguments) {
  const LayerNormBackward& a = arguments;
  if (a.dgain.value.data != nullptr || a.dbias.value.data != nullptr)
    sum_columns(a.x.rows, a.x.cols, NormTerms{a.x, a.mean, a.inverse_deviation, a.dy}, {a.dgain, a.dbias}, a.partial);
  if (a.dx.value.data != nullptr || a.dresidual.value.data != nullptr) for_each_row_of_warps<NormaliseBackward>(a.x, a);
}
void column_sum(const Matrix& x, const Matrix& y, bool accumulate, float* partial) {
  sum_columns(x.rows, x.cols, Element{x}, {{y, accumulate}}, partial);
}
void cross_entropy_rows(const CrossEntropyRows& arguments) {
  for_each_row(arguments.logits.rows, 2 * kCells, CrossEntropy{arguments});
}

}  // namespace dragoman::backend::cuda::device
