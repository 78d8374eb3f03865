#include <algorithm>
#include <cmath>

#include "products/blocks.h"
#include "kernels.h"

#include <dragoman/ops/paired_cross_entropy.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/paired_cross_entropy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// One of the two rows: its logits, their maximum, and the logarithm of the sum of exp(logit - maximum).
struct PairedRow {
  float* logits;
  float shift;
  double log_sum;

  static PairedRow of(float* logits, std::size_t count) {
    const float shift = max_of(logits, count);
    return {logits, shift, std::log(static_cast<double>(sum_of_exponentials(logits, count, shift)))};
  }
  template <class Vector>
  HWY_INLINE Floats log_probabilities(std::size_t i, const Vector& vector) const {
    return hn::Sub(hn::Sub(vector.load(logits + i), set(shift)), set(static_cast<float>(log_sum)));
  }
  double mean_nll(std::size_t count) const {
    const float sum = sum_of(count, [&](std::size_t i, auto vector)
                                        HWY_ATTR { return vector.keep(hn::Sub(vector.load(logits + i), set(shift))); });
    return log_sum - static_cast<double>(sum) / static_cast<double>(count);
  }
  double nll(std::size_t target) const {
    return log_sum - (static_cast<double>(logits[target]) - static_cast<double>(shift));
  }
};

/// Returns KL(p || q).
HWY_INLINE float divergence_of_rows(const PairedRow& p, const PairedRow& q, std::size_t count) {
  return sum_of(count, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats log_p = p.log_probabilities(i, vector);
    const Floats difference = hn::Sub(log_p, q.log_probabilities(i, vector));
    return vector.keep(hn::Mul(exponential_of_negative(log_p), difference));
  });
}

struct PairedSlopes {
  float half;        ///< of the cross entropy
  float divergence;  ///< weight of the divergence
  float uniform;     ///< target probability of each piece by smoothing, times `half`

  /// Returns the gradient for the row with log probabilities `own`.
  HWY_INLINE Floats of(Floats own, Floats other, float own_divergence) const {
    const Floats p = exponential_of_negative(own);
    const Floats difference = hn::Sub(hn::Sub(own, other), set(own_divergence));
    const Floats pull = hn::Sub(hn::MulAdd(p, difference, p), exponential_of_negative(other));
    return hn::MulAdd(set(divergence), pull, hn::MulSub(set(half), p, set(uniform)));
  }
};

HWY_INLINE void finish_pair(const PairedRow& p, const PairedRow& q, std::size_t count, float pq, float qp,
                            const PairedSlopes& slopes) {
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats log_p = p.log_probabilities(i, vector);
    const Floats log_q = q.log_probabilities(i, vector);
    vector.store(slopes.of(log_p, log_q, pq), p.logits + i);
    vector.store(slopes.of(log_q, log_p, qp), q.logits + i);
  });
}

void paired_cross_entropy_range(const ops::PairedCrossEntropyRowsArguments& arguments, std::int64_t begin,
                                std::int64_t end) {
  const auto cols = static_cast<std::size_t>(arguments.first.cols);
  const double smoothing = arguments.label_smoothing, weight = arguments.divergence_weight;
  const bool differentiate = !arguments.gradient_scale.empty();
  for (std::int64_t r = begin; r < end; ++r) {
    float* const first = arguments.first.row<float>(r);
    float* const second = arguments.second.row<float>(r);
    if (arguments.targets[r] == ops::kNoTarget) {
      arguments.nlls.as<double>()[r] = arguments.losses.as<double>()[r] = 0;
      if (!differentiate) continue;
      std::fill_n(first, cols, 0.0F);
      std::fill_n(second, cols, 0.0F);
      continue;
    }
    const auto target = static_cast<std::size_t>(arguments.targets[r]);
    const PairedRow p = PairedRow::of(first, cols), q = PairedRow::of(second, cols);
    const float pq = divergence_of_rows(p, q, cols), qp = divergence_of_rows(q, p, cols);
    const double nll = (p.nll(target) + q.nll(target)) / 2;
    const double spread = smoothing == 0 ? 0 : smoothing * (p.mean_nll(cols) + q.mean_nll(cols)) / 2;
    arguments.nlls.as<double>()[r] = nll;
    arguments.losses.as<double>()[r] =
        (1 - smoothing) * nll + spread + weight / 4 * (static_cast<double>(pq) + static_cast<double>(qp));
    if (!differentiate) continue;
    const double scale = arguments.gradient_scale[0];
    finish_pair(p, q, cols, pq, qp,
                {.half = static_cast<float>(scale / 2),
                 .divergence = static_cast<float>(scale * weight / 4),
                 .uniform = static_cast<float>(scale / 2 * smoothing / static_cast<double>(cols))});
    const auto wanted = static_cast<float>(scale / 2 * (1 - smoothing));
    first[target] -= wanted;
    second[target] -= wanted;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(paired_cross_entropy_range);

template <>
void kernel(Context& context, const ops::PairedCrossEntropyRowsArguments& arguments) {
  core::for_each_range(context.executor(), arguments.first.rows, rows_per_block(2 * arguments.first.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(paired_cross_entropy_range)(arguments, begin, end);
                       });
}

}  // namespace dragoman::backend::cpu
#endif
