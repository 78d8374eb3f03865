// Elementary functions on vectors of floats, to a few units in the last place. Included once per target by Highway's
// foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_VECTOR_MATH_INL_H_
#undef DRAGOMAN_BACKEND_CPU_VECTOR_MATH_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_VECTOR_MATH_INL_H_
#endif

#include "vector-inl.h"

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// e^x for x <= 0, as after the subtraction of a row's maximum. The result is accurate to two units in the last place,
/// 0 for x < -87, and NaN for NaN, so that a diverged network is noticed. x = n ln 2 + r with |r| <= ln 2 / 2. The
/// polynomial is the minimax polynomial of degree 6 whose first two coefficients are 1, with a relative error below
/// 3.1e-9.
HWY_INLINE Floats exponential_of_negative(Floats x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d_bits;
  // 1.5 * 2^23: adding it rounds a value, whose integer is then in the low bits
  const Floats rounder = set(12582912.0F);
  const Floats shifted = hn::MulAdd(x, set(1.44269504F), rounder);
  const Floats n = hn::Sub(shifted, rounder);
  const Floats r = hn::NegMulAdd(n, set(-2.12194440e-4F), hn::NegMulAdd(n, set(0.693359375F), x));
  Floats p = hn::MulAdd(r, set(0.00138145996F), set(0.00836871699F));
  p = hn::MulAdd(p, r, set(0.0416683880F));
  p = hn::MulAdd(p, r, set(0.166665206F));
  p = hn::MulAdd(p, r, set(0.499999934F));
  p = hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, set(1.0F)));
  const auto power = hn::Add(hn::ShiftLeft<23>(hn::BitCast(d_bits, shifted)), hn::Set(d_bits, 0x3F800000));
  return hn::IfThenZeroElse(hn::Lt(x, set(-87.0F)), hn::Mul(p, hn::BitCast(d, power)));
}

/// 1 / (1 + e^-x), without overflow on either side.
HWY_INLINE Floats sigmoid(Floats x) {
  const Floats e = exponential_of_negative(hn::Neg(hn::Abs(x)));
  const Floats numerator = hn::IfThenElse(hn::Lt(x, zero()), e, set(1.0F));
  return hn::Div(numerator, hn::Add(set(1.0F), e));
}

HWY_INLINE Floats hyperbolic_tangent(Floats x) {
  // Beyond 10 the result rounds to 1, so larger values need not be passed to Highway's Tanh.
  const Floats limited = hn::Max(hn::Min(x, set(10.0F)), set(-10.0F));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(FloatTag(), limited));
}

/// The density of the standard normal distribution.
HWY_INLINE Floats normal_density(Floats x) {
  return hn::Mul(set(0.3989422804F), exponential_of_negative(hn::Mul(set(-0.5F), hn::Mul(x, x))));
}

/// The distribution function of the standard normal distribution. Its *relative* error is small also far to the left,
/// where 1 + erf(x) would cancel. For a = |x|: Phi(-a) = exp(-a^2/2) * P(u) / (a + 4) with u = (a - 4) / (a + 4). P is
/// the polynomial of degree 9 that interpolates (a + 4) * exp(a^2/2) * Phi(-a) on 0 <= a <= 14.5 at the Chebyshev
/// nodes. Its relative error is below 1.3e-8.
HWY_INLINE Floats normal_distribution(Floats x) {
  const Floats a = hn::Min(hn::Abs(x), set(14.5F));
  const Floats reciprocal = hn::Div(set(1.0F), hn::Add(a, set(4.0F)));
  const Floats u = hn::Mul(hn::Sub(a, set(4.0F)), reciprocal);
  Floats p = set(-0.000122983157005F);
  p = hn::MulAdd(p, u, set(0.000194801851142F));
  p = hn::MulAdd(p, u, set(0.00156931364509F));
  p = hn::MulAdd(p, u, set(-0.00352357405635F));
  p = hn::MulAdd(p, u, set(-0.00752721291168F));
  p = hn::MulAdd(p, u, set(0.0604064697483F));
  p = hn::MulAdd(p, u, set(-0.186523005897F));
  p = hn::MulAdd(p, u, set(0.387136679795F));
  p = hn::MulAdd(p, u, set(-0.607896606074F));
  p = hn::MulAdd(p, u, set(0.75528513851F));
  const Floats tail = hn::Mul(exponential_of_negative(hn::Mul(set(-0.5F), hn::Mul(a, a))), hn::Mul(p, reciprocal));
  return hn::IfThenElse(hn::Lt(x, zero()), tail, hn::Sub(set(1.0F), tail));
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
