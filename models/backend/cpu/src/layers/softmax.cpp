#include <algorithm>
#include <cmath>

#include "products/blocks.h"
#include "kernels.h"

#include <dragoman/ops/softmax.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE void log_softmax_row(const float* x, std::size_t count, float* y) {
  const float shift = max_of(x, count);
  const auto log_sum = static_cast<float>(std::log(static_cast<double>(sum_of_exponentials(x, count, shift))));
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
    vector.store(hn::Sub(hn::Sub(vector.load(x + i), set(shift)), set(log_sum)), y + i);
  });
}

void softmax_rows(const ops::SoftmaxArguments& arguments, std::int64_t begin, std::int64_t end) {
  const std::int64_t cols = arguments.y.cols;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = arguments.x.row<float>(r);
    float* y = arguments.y.row<float>(r);
    const std::int64_t visible = arguments.causal_offset < 0 ? cols : std::min(cols, r + arguments.causal_offset + 1);
    if (arguments.logarithm)
      log_softmax_row(x, static_cast<std::size_t>(visible), y);
    else
      softmax_row(x, static_cast<std::size_t>(visible), y);
    std::fill(y + visible, y + cols, 0.0F);
  }
}

void softmax_backward_rows(const ops::SoftmaxBackwardArguments& arguments, std::int64_t begin, std::int64_t end) {
  const auto cols = static_cast<std::size_t>(arguments.y.cols);
  const bool accumulate = arguments.dx.accumulate;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* y = arguments.y.row<float>(r);
    const float* dy = arguments.dy.row<float>(r);
    float* dx = arguments.dx.value.row<float>(r);
    const bool logarithm = arguments.logarithm;
    const Floats sum = set(sum_of(cols, [&](std::size_t i, auto vector) HWY_ATTR {
      return logarithm ? vector.load(dy + i) : hn::Mul(vector.load(dy + i), vector.load(y + i));
    }));
    for_each_vector(cols, [&](std::size_t i, auto vector) HWY_ATTR {
      const Floats upstream = vector.load(dy + i);
      const Floats value = vector.load(y + i);
      const Floats gradient = logarithm ? hn::NegMulAdd(exponential_of_negative(value), sum, upstream)
                                        : hn::Mul(value, hn::Sub(upstream, sum));
      vector.store(accumulate ? hn::Add(vector.load(dx + i), gradient) : gradient, dx + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_backward_rows);

template <>
void kernel(Context& context, const ops::SoftmaxArguments& arguments) {
  core::for_each_range(context.executor(), arguments.y.rows, rows_per_block(arguments.y.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(softmax_rows)(arguments, begin, end);
                       });
}

template <>
void kernel(Context& context, const ops::SoftmaxBackwardArguments& arguments) {
  core::for_each_range(context.executor(), arguments.y.rows, rows_per_block(arguments.y.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(softmax_backward_rows)(arguments, begin, end);
                       });
}

}  // namespace dragoman::backend::cpu
#endif
