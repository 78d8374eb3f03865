#include "elements.h"

#include <cmath>

namespace dragoman::backend::cuda::device {
namespace {

struct LionUpdate {
  Lion arguments;
  SIMT_DEVICE void operator()(std::int64_t, std::int64_t j) const {
    const ops::UpdateStep& step = *arguments.step;
    if (step.skip != 0) return;
    const auto beta1 = static_cast<float>(arguments.beta1);
    const auto beta2 = static_cast<float>(arguments.beta2);
    const float g = static_cast<float>(step.gradient_scale) * arguments.gradients[j];
    const float m = arguments.first_moment[j];
    const float p = arguments.parameters[j];
    const float mixed = beta1 * m + static_cast<float>(1 - arguments.beta1) * g;
    const float sign = mixed > 0 ? 1.0F : mixed < 0 ? -1.0F : 0.0F;
    arguments.parameters[j] =
        p - static_cast<float>(step.learning_rate) * (sign + static_cast<float>(arguments.weight_decay) * p);
    arguments.first_moment[j] = beta2 * m + static_cast<float>(1 - arguments.beta2) * g;
  }
};

struct SgdUpdate {
  Sgd arguments;
  SIMT_DEVICE void operator()(std::int64_t, std::int64_t j) const {
    const ops::UpdateStep& step = *arguments.step;
    if (step.skip != 0) return;
    const auto momentum = static_cast<float>(arguments.momentum);
    const float p = arguments.parameters[j];
    const float g = static_cast<float>(step.gradient_scale) * arguments.gradients[j] +
                    static_cast<float>(arguments.weight_decay) * p;
    float direction = g;
    if (arguments.first_moment != nullptr) {
      const float m = momentum * arguments.first_moment[j] + g;
      arguments.first_moment[j] = m;
      direction = arguments.nesterov ? g + momentum * m : m;
    }
    arguments.parameters[j] = p - static_cast<float>(step.learning_rate) * direction;
  }
};

struct Clip {
  Matrix x;
  float limit;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    at(x, i, j) = fminf(fmaxf(at(x, i, j), -limit), limit);
  }
};

/// The indices of the totals of an Adafactor step.
enum Total : int { kMeanOfRowMoments, kRate, kUpdateScale };

SIMT_DEVICE float decay_of(const Adafactor& arguments) {
  return static_cast<float>(1 - pow(static_cast<double>(arguments.step->step), -arguments.decay_rate));
}
SIMT_DEVICE float gradient_of(const Adafactor& arguments, std::int64_t i, std::int64_t j) {
  return static_cast<float>(arguments.step->gradient_scale) * at(arguments.gradients, i, j);
}
/// Returns u in the formula before clipping.
SIMT_DEVICE float update_of(const Adafactor& arguments, std::int64_t i, std::int64_t j) {
  const float g = gradient_of(arguments, i, j);
  if (arguments.second_moment.data != nullptr) return g / sqrtf(at(arguments.second_moment, i, j));
  const auto mean = static_cast<float>(arguments.totals[kMeanOfRowMoments]);
  // Two square roots, because the product of the moments may be too small for a float.
  return g / sqrtf(at(arguments.row_moment, 0, i) / mean) / sqrtf(at(arguments.column_moment, 0, j));
}

/// Computes the second moments of a row and the magnitude of its parameters.
struct AdafactorRows {
  Adafactor arguments;
  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<double>(kWarps);
    const std::int64_t row = simt::block_index();
    const std::int64_t cols = arguments.parameters.cols;
    if (arguments.step->skip != 0) return;
    const float decay = decay_of(arguments);
    const bool factored = arguments.second_moment.data == nullptr;
    double squares = 0;
    double parameter_squares = 0;
    for (std::int64_t j = simt::thread_index(); j < cols; j += kThreads) {
      const float g = gradient_of(arguments, row, j);
      const float p = at(arguments.parameters, row, j);
      squares += g * g;
      parameter_squares += p * p;
      if (factored) continue;
      float& moment = at(arguments.second_moment, row, j);
      moment = decay * moment + (1 - decay) * (g * g + arguments.square_epsilon);
    }
    squares = reduce_block(squares, Sum(), cells);
    parameter_squares = reduce_block(parameter_squares, Sum(), cells);
    if (simt::thread_index() != 0) return;
    arguments.row_sums[row] = parameter_squares;
    if (!factored) return;
    float& moment = at(arguments.row_moment, 0, row);
    moment = decay * moment +
             (1 - decay) * (static_cast<float>(squares / static_cast<double>(cols)) + arguments.square_epsilon);
  }
};

/// Computes the second moments of kWarp columns. Each warp takes every kWarps-th row.
struct AdafactorColumns {
  Adafactor arguments;
  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto sums = memory.take<double>(kThreads);
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::int64_t rows = arguments.parameters.rows;
    const std::int64_t col = simt::block_index() * kWarp + lane;
    double sum = 0;
    if (col < arguments.parameters.cols)
      for (std::int64_t row = warp; row < rows; row += kWarps) {
        const float g = gradient_of(arguments, row, col);
        sum += g * g;
      }
    sums[simt::thread_index()] = sum;
    simt::barrier();
    if (warp != 0 || col >= arguments.parameters.cols || arguments.step->skip != 0) return;
    for (int i = 1; i < kWarps; ++i) sum += sums[i * kWarp + lane];
    const float decay = decay_of(arguments);
    float& moment = at(arguments.column_moment, 0, col);
    moment =
        decay * moment + (1 - decay) * (static_cast<float>(sum / static_cast<double>(rows)) + arguments.square_epsilon);
  }
};

/// Computes the totals from the sums of the rows, in one block: first the rate and the mean of the rows' moments, then
/// the clipping factor of the updates.
struct AdafactorTotals {
  Adafactor arguments;
  bool of_updates;
  SIMT_DEVICE void operator()() const {
    if (arguments.step->skip != 0) return;  // then there are no sums
    simt::SharedMemory memory;
    const auto cells = memory.take<double>(kWarps);
    const std::int64_t rows = arguments.parameters.rows;
    const double* row_sums = arguments.row_sums + (of_updates ? rows : 0);
    double sum = 0;
    double moments = 0;
    for (std::int64_t i = simt::thread_index(); i < rows; i += kThreads) {
      sum += row_sums[i];
      if (arguments.second_moment.data == nullptr) moments += at(arguments.row_moment, 0, i);
    }
    sum = reduce_block(sum, Sum(), cells);
    moments = reduce_block(moments, Sum(), cells);
    if (simt::thread_index() != 0) return;
    const double size = sqrt(sum / static_cast<double>(rows * arguments.parameters.cols));
    if (of_updates) {
      arguments.totals[kUpdateScale] = 1 / fmax(1.0, size / arguments.clip_threshold);
      return;
    }
    arguments.totals[kMeanOfRowMoments] = moments / static_cast<double>(rows);
    const double relative = arguments.scale_parameter ? fmax(static_cast<double>(arguments.scale_epsilon), size) : 1;
    arguments.totals[kRate] = arguments.step->learning_rate * relative;
  }
};

struct AdafactorUpdateSquares {
  Adafactor arguments;
  SIMT_DEVICE void operator()() const {
    if (arguments.step->skip != 0) return;
    simt::SharedMemory memory;
    const auto cells = memory.take<double>(kWarps);
    const std::int64_t row = simt::block_index();
    double sum = 0;
    for (std::int64_t j = simt::thread_index(); j < arguments.parameters.cols; j += kThreads) {
      const float u = update_of(arguments, row, j);
      sum += u * u;
    }
    sum = reduce_block(sum, Sum(), cells);
    if (simt::thread_index() == 0) arguments.row_sums[arguments.parameters.rows + row] = sum;
  }
};

struct AdafactorApply {
  Adafactor arguments;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    if (arguments.step->skip != 0) return;
    float& p = at(arguments.parameters, i, j);
    const auto scale = static_cast<float>(arguments.totals[kUpdateScale]);
    p -=
        static_cast<float>(arguments.totals[kRate]) * (update_of(arguments, i, j) * scale + arguments.weight_decay * p);
  }
};

}  // namespace

void lion(const Lion& arguments) {
  for_each_element(1, arguments.count, LionUpdate{arguments});
}

void sgd(const Sgd& arguments) {
  for_each_element(1, arguments.count, SgdUpdate{arguments});
}

void clip_values(const Matrix& x, float limit) {
  for_each_element(x.rows, x.cols, Clip{x, limit});
}

void adafactor(const Adafactor& arguments) {
  constexpr std::size_t kCells = kWarps * sizeof(double);
  const std::int64_t rows = arguments.parameters.rows;
  for_each_row(rows, kCells, AdafactorRows{arguments});
  if (arguments.second_moment.data == nullptr)
    simt::launch({blocks_of(arguments.parameters.cols, kWarp)}, kThreads, kThreads * sizeof(double),
                 AdafactorColumns{arguments});
  simt::launch({1}, kThreads, kCells, AdafactorTotals{arguments, false});
  for_each_row(rows, kCells, AdafactorUpdateSquares{arguments});
  simt::launch({1}, kThreads, kCells, AdafactorTotals{arguments, true});
  for_each_element(rows, arguments.parameters.cols, AdafactorApply{arguments});
}

}  // namespace dragoman::backend::cuda::device
