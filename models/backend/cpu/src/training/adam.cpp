#include <cmath>

#include "products/blocks.h"
#include "kernels.h"

#include <dragoman/ops/adam.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/adam.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

template <bool kCoupled>
HWY_INLINE void adam_elements(const ops::AdamArguments& arguments, std::int64_t begin, std::int64_t end) {
  const ops::UpdateStep& now = arguments.step[0];
  const auto step = static_cast<double>(now.step);
  const auto as_floats = [](double value) HWY_ATTR { return set(static_cast<float>(value)); };
  const Floats beta1 = as_floats(arguments.beta1);
  const Floats beta2 = as_floats(arguments.beta2);
  const Floats rest1 = as_floats(1 - arguments.beta1);
  const Floats rest2 = as_floats(1 - arguments.beta2);
  const Floats correction1 = as_floats(1 / (1 - std::pow(arguments.beta1, step)));
  const Floats correction2 = as_floats(1 / (1 - std::pow(arguments.beta2, step)));
  const Floats epsilon = as_floats(arguments.epsilon);
  const Floats decay = as_floats(arguments.weight_decay);
  const Floats rate = as_floats(now.learning_rate);
  const Floats gradient_scale = as_floats(now.gradient_scale);
  float* parameters = arguments.parameters.as<float>() + begin;
  const float* gradients = arguments.gradients.as<float>() + begin;
  float* first = arguments.first_moment.as<float>() + begin;
  float* second = arguments.second_moment.as<float>() + begin;
  for_each_vector(static_cast<std::size_t>(end - begin), [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats p = vector.load(parameters + i);
    Floats g = hn::Mul(vector.load(gradients + i), gradient_scale);
    if constexpr (kCoupled) g = hn::MulAdd(decay, p, g);
    const Floats m = hn::MulAdd(beta1, vector.load(first + i), hn::Mul(rest1, g));
    const Floats v = hn::MulAdd(beta2, vector.load(second + i), hn::Mul(rest2, hn::Mul(g, g)));
    const Floats deviation = hn::Add(hn::Sqrt(hn::Mul(v, correction2)), epsilon);
    Floats update = hn::Div(hn::Mul(m, correction1), deviation);
    if constexpr (!kCoupled) update = hn::MulAdd(decay, p, update);
    vector.store(m, first + i);
    vector.store(v, second + i);
    vector.store(hn::NegMulAdd(rate, update, p), parameters + i);
  });
}

void adam_range(const ops::AdamArguments& arguments, std::int64_t begin, std::int64_t end) {
  if (arguments.coupled)
    adam_elements<true>(arguments, begin, end);
  else
    adam_elements<false>(arguments, begin, end);
}

void moving_average_range(const ops::MovingAverageArguments& arguments, std::int64_t begin, std::int64_t end) {
  const Floats decay = set(static_cast<float>(arguments.step[0].average_decay));
  const Floats rest = set(static_cast<float>(1 - arguments.step[0].average_decay));
  float* average = arguments.average.as<float>() + begin;
  const float* values = arguments.values.as<float>() + begin;
  for_each_vector(static_cast<std::size_t>(end - begin), [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats kept = hn::Mul(vector.load(average + i), decay);
    vector.store(hn::MulAdd(vector.load(values + i), rest, kept), average + i);
  });
}

/// Returns the sum of squares of `count` floats in double precision.
double sum_of_squares_range(const float* x, std::size_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, hn::ScalableTag<double>> d_half;
  const std::size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto x0 = hn::PromoteTo(d, hn::LoadU(d_half, x + i));
    const auto x1 = hn::PromoteTo(d, hn::LoadU(d_half, x + i + lanes));
    sum0 = hn::MulAdd(x0, x0, sum0);
    sum1 = hn::MulAdd(x1, x1, sum1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(adam_range);
HWY_EXPORT(moving_average_range);
HWY_EXPORT(sum_of_squares_range);

template <>
void kernel(Context& context, const ops::AdamArguments& arguments) {
  if (arguments.step[0].skip != 0) return;
  core::for_each_range(context.executor(), arguments.parameters.size(), kBlockElements,
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(adam_range)(arguments, begin, end);
                       });
}

template <>
void kernel(Context& context, const ops::MovingAverageArguments& arguments) {
  if (arguments.step[0].skip != 0) return;
  core::for_each_range(context.executor(), arguments.average.size(), kBlockElements,
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(moving_average_range)(arguments, begin, end);
                       });
}

template <>
void kernel(Context& context, const ops::SumOfSquaresArguments& arguments) {
  const Tensor& x = arguments.x;
  const std::int64_t across = (x.cols + kBlockElements - 1) / kBlockElements;
  const std::int64_t pieces = x.rows * across;
  const tensor::ScratchScope scratch(context.arena());
  auto* partials = static_cast<double*>(context.arena().allocate(static_cast<std::size_t>(pieces) * sizeof(double)));
  // A piece is a row or part of one; short rows share a block.
  core::for_each_range(context.executor(), pieces, rows_per_block(x.cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t col = piece % across * kBlockElements;
      const auto count = static_cast<std::size_t>(std::min(kBlockElements, x.cols - col));
      partials[piece] = HWY_DYNAMIC_DISPATCH(sum_of_squares_range)(x.row<float>(piece / across) + col, count);
    }
  });
  double sum = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) sum += partials[piece];
  *arguments.sum.as<double>() = sum;
}

}  // namespace dragoman::backend::cpu
#endif
