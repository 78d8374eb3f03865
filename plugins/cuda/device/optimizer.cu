#include "elements.h"

#include <cmath>

namespace dragoman::backend::cuda::device {
namespace {

struct AdamUpdate {
  Adam arguments;

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto corrections = memory.take<float>(2);
    const ops::UpdateStep step = *arguments.step;
    if (step.skip != 0) return;
    if (simt::thread_index() == 0) {
      corrections[0] = static_cast<float>(1 - pow(arguments.beta1, static_cast<double>(step.step)));
      corrections[1] = static_cast<float>(1 - pow(arguments.beta2, static_cast<double>(step.step)));
    }
    simt::barrier();
    const float first_correction = corrections[0];
    const float second_correction = corrections[1];
    const auto beta1 = static_cast<float>(arguments.beta1);
    const auto beta2 = static_cast<float>(arguments.beta2);
    const auto rest1 = static_cast<float>(1 - arguments.beta1);
    const auto rest2 = static_cast<float>(1 - arguments.beta2);
    const auto gradient_scale = static_cast<float>(step.gradient_scale);
    const auto learning_rate = static_cast<float>(step.learning_rate);
    const std::int64_t stride = simt::block_count() * kThreads;
    for (std::int64_t j = simt::block_index() * kThreads + simt::thread_index(); j < arguments.count; j += stride) {
      const float decay = static_cast<float>(arguments.weight_decay) * arguments.parameters[j];
      const float g = gradient_scale * arguments.gradients[j] + (arguments.coupled ? decay : 0);
      const float m = beta1 * arguments.first_moment[j] + rest1 * g;
      const float v = beta2 * arguments.second_moment[j] + rest2 * g * g;
      const float direction =
          (m / first_correction) / (sqrtf(v / second_correction) + static_cast<float>(arguments.epsilon)) +
          (arguments.coupled ? 0 : decay);
      arguments.first_moment[j] = m;
      arguments.second_moment[j] = v;
      arguments.parameters[j] -= learning_rate * direction;
    }
  }
};

struct Average {
  float* average;
  const float* values;
  const ops::UpdateStep* step;
  SIMT_DEVICE void operator()(std::int64_t, std::int64_t j) const {
    if (step->skip != 0) return;
    const double decay = step->average_decay;
    average[j] = static_cast<float>(decay) * average[j] + static_cast<float>(1 - decay) * values[j];
  }
};

/// Each thread of the grid takes every kSquareBlocks * kThreads-th element.
struct SumSquares {
  Matrix x;
  double* partial_sums;
  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<double>(kWarps);
    double sum = 0;
    const std::int64_t stride = kSquareBlocks * kThreads;
    for (std::int64_t e = simt::block_index() * kThreads + simt::thread_index(); e < x.rows * x.cols; e += stride) {
      const double value = at(x, e / x.cols, e % x.cols);
      sum += value * value;
    }
    sum = reduce_block(sum, Sum(), cells);
    if (simt::thread_index() == 0) partial_sums[simt::block_index()] = sum;
  }
};
struct SumPartial {
  const double* partial_sums;
  double* sum;
  std::int64_t count;
  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<double>(kWarps);
    double own = 0;
    for (std::int64_t i = simt::thread_index(); i < count; i += kThreads) own += partial_sums[i];
    own = reduce_block(own, Sum(), cells);
    if (simt::thread_index() == 0) *sum = own;
  }
};

}  // namespace

void adam(const Adam& arguments) {
  constexpr std::int64_t kMaxBlocks = 4096;
  const std::int64_t blocks = blocks_of(arguments.count, kThreads);
  simt::launch({blocks < kMaxBlocks ? blocks : kMaxBlocks}, kThreads, 2 * sizeof(double), AdamUpdate{arguments});
}

void moving_average(float* average, const float* values, std::int64_t count, const ops::UpdateStep* step) {
  for_each_element(1, count, Average{average, values, step});
}

void sum_of_squares(const Matrix& x, double* partial_sums, double* sum) {
  const std::int64_t blocks = blocks_of(x.rows * x.cols, kThreads);
  const std::int64_t used = blocks < kSquareBlocks ? blocks : kSquareBlocks;
  simt::launch({used}, kThreads, kWarps * sizeof(double), SumSquares{x, partial_sums});
  simt::launch({1}, kThreads, kWarps * sizeof(double), SumPartial{partial_sums, sum, used});
}

}  // namespace dragoman::backend::cuda::device
