#include <algorithm>
#include <cmath>

#include "products/blocks.h"
#include "kernels.h"

#include <dragoman/ops/softmax_cross_entropy.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/cross_entropy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Returns the sum of the differences from `shift`, which is close to the maximum. So the mean does not lose digits to
/// a common offset of the logits.
HWY_INLINE double sum_of_differences(const float* x, std::size_t count, float shift) {
  return static_cast<double>(sum_of(count, [&](std::size_t i, auto vector) HWY_ATTR {
    return vector.keep(hn::Sub(vector.load(x + i), set(shift)));
  }));
}

/// Turns the row of exponentials into factor * (softmax - target distribution).
HWY_INLINE void finish_gradient(float* row, std::size_t count, std::size_t target, double sum, double smoothing,
                                double factor) {
  const Floats scale = set(static_cast<float>(factor / sum));
  const Floats uniform = set(static_cast<float>(factor * smoothing / static_cast<double>(count)));
  for_each_vector(count, [&](std::size_t i, auto vector)
                             HWY_ATTR { vector.store(hn::MulSub(vector.load(row + i), scale, uniform), row + i); });
  row[target] -= static_cast<float>(factor * (1 - smoothing));
}

void cross_entropy_range(const ops::CrossEntropyRowsArguments& arguments, std::int64_t begin, std::int64_t end) {
  const auto cols = static_cast<std::size_t>(arguments.logits.cols);
  const double smoothing = arguments.label_smoothing;
  for (std::int64_t r = begin; r < end; ++r) {
    float* row = arguments.logits.row<float>(r);
    if (arguments.targets[r] == ops::kNoTarget) {
      arguments.nlls.as<double>()[r] = arguments.losses.as<double>()[r] = 0;
      if (!arguments.gradient_scale.empty()) std::fill_n(row, cols, 0.0F);
      continue;
    }
    const auto target = static_cast<std::size_t>(arguments.targets[r]);
    const float shift = max_of(row, cols);
    const double target_logit = static_cast<double>(row[target]) - static_cast<double>(shift);
    const double mean_logit = smoothing == 0 ? 0 : sum_of_differences(row, cols, shift) / static_cast<double>(cols);
    const bool differentiate = !arguments.gradient_scale.empty();
    const double sum = static_cast<double>(differentiate ? exponentials(row, cols, shift, row)
                                                         : sum_of_exponentials(row, cols, shift));
    const double log_sum = std::log(sum);
    arguments.nlls.as<double>()[r] = log_sum - target_logit;
    arguments.losses.as<double>()[r] = log_sum - (1 - smoothing) * target_logit - smoothing * mean_logit;
    if (differentiate) finish_gradient(row, cols, target, sum, smoothing, arguments.gradient_scale[0]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(cross_entropy_range);

template <>
void kernel(Context& context, const ops::CrossEntropyRowsArguments& arguments) {
  core::for_each_range(context.executor(), arguments.logits.rows, rows_per_block(arguments.logits.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(cross_entropy_range)(arguments, begin, end);
                       });
}

}  // namespace dragoman::backend::cpu
#endif
