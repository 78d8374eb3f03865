// Softmax of one row. Included once per target by Highway's foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_SOFTMAX_INL_H_
#undef DRAGOMAN_BACKEND_CPU_SOFTMAX_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_SOFTMAX_INL_H_
#endif

#include "vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// y = exp(x - shift). Returns the sum. y may be x.
HWY_INLINE float exponentials(const float* x, std::size_t count, float shift, float* y) {
  return sum_of(count, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats e = vector.keep(exponential_of_negative(hn::Sub(vector.load(x + i), set(shift))));
    vector.store(e, y + i);
    return e;
  });
}

/// Returns the sum of exp(x - shift).
HWY_INLINE float sum_of_exponentials(const float* x, std::size_t count, float shift) {
  return sum_of(count, [&](std::size_t i, auto vector) HWY_ATTR {
    return vector.keep(exponential_of_negative(hn::Sub(vector.load(x + i), set(shift))));
  });
}

HWY_INLINE void scale_row(float factor, std::size_t count, float* y) {
  for_each_vector(count, [&](std::size_t i, auto vector)
                             HWY_ATTR { vector.store(hn::Mul(vector.load(y + i), set(factor)), y + i); });
}

/// Softmax of at most one vector of values, in registers. This is the common case for a sentence.
template <class Vector>
HWY_INLINE void short_softmax(const float* x, float* y, const Vector& vector) {
  const FloatTag d;
  const Floats numbers = vector.load_or(x, -std::numeric_limits<float>::infinity());
  const Floats e = vector.keep(exponential_of_negative(hn::Sub(numbers, hn::MaxOfLanes(d, numbers))));
  vector.store(hn::Div(e, hn::SumOfLanes(d, e)), y);
}

/// y = softmax(x); y may be x. Has no effect for zero elements.
HWY_INLINE void softmax_row(const float* x, std::size_t count, float* y) {
  if (count == 0) return;
  if (count == float_lanes()) return short_softmax(x, y, WholeVector());
  if (count < float_lanes()) return short_softmax(x, y, PartVector{count});
  scale_row(1.0F / exponentials(x, count, max_of(x, count), y), count, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
