// Activation functions and their derivatives on vectors. Included once per target by Highway's foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_ACTIVATION_INL_H_
#undef DRAGOMAN_BACKEND_CPU_ACTIVATION_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_ACTIVATION_INL_H_
#endif

#include "vector_math-inl.h"

#include <dragoman/ops/elementwise.h>

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

struct Identity {
  HWY_INLINE Floats value(Floats x) const { return x; }
  HWY_INLINE Floats slope(Floats, Floats) const { return set(1.0F); }
};

struct Relu {
  // This form keeps NaN.
  HWY_INLINE Floats value(Floats x) const { return hn::IfThenZeroElse(hn::Lt(x, zero()), x); }
  HWY_INLINE Floats slope(Floats, Floats y) const { return hn::IfThenElseZero(hn::Gt(y, zero()), set(1.0F)); }
};

struct Gelu {
  HWY_INLINE Floats value(Floats x) const { return hn::Mul(x, normal_distribution(x)); }
  HWY_INLINE Floats slope(Floats x, Floats) const { return hn::MulAdd(x, normal_density(x), normal_distribution(x)); }
};

struct Swish {
  HWY_INLINE Floats value(Floats x) const { return hn::Mul(x, sigmoid(x)); }
  HWY_INLINE Floats slope(Floats x, Floats) const {
    const Floats s = sigmoid(x);
    return hn::MulAdd(hn::Mul(x, s), hn::Sub(set(1.0F), s), s);
  }
};

struct Sigmoid {
  HWY_INLINE Floats value(Floats x) const { return sigmoid(x); }
  HWY_INLINE Floats slope(Floats, Floats y) const { return hn::Mul(y, hn::Sub(set(1.0F), y)); }
};

struct Tanh {
  HWY_INLINE Floats value(Floats x) const { return hyperbolic_tangent(x); }
  HWY_INLINE Floats slope(Floats, Floats y) const { return hn::NegMulAdd(y, y, set(1.0F)); }
};

/// x * sigmoid(2 u) with u = sqrt(2 / pi) * (x + 0.044715 x^3), since (1 + tanh(u)) / 2 = sigmoid(2 u).
struct GeluTanh {
  static constexpr float kFactor = 1.5957691216057308F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715F;
  static HWY_INLINE Floats weight(Floats x) {
    const Floats inner = hn::MulAdd(hn::Mul(set(kCubic), x), x, set(1.0F));
    return sigmoid(hn::Mul(hn::Mul(set(kFactor), x), inner));
  }
  HWY_INLINE Floats value(Floats x) const { return hn::Mul(x, weight(x)); }
  HWY_INLINE Floats slope(Floats x, Floats) const {
    const Floats s = weight(x);
    const Floats du = hn::Mul(set(kFactor), hn::MulAdd(hn::Mul(set(3 * kCubic), x), x, set(1.0F)));
    return hn::MulAdd(hn::Mul(hn::Mul(x, s), hn::Sub(set(1.0F), s)), du, s);
  }
};

/// Calls body with the function object of `activation`.
template <class Body>
HWY_INLINE void visit_activation(ops::Activation activation, const Body& body) {
  switch (activation) {
    case ops::Activation::kNone:
      return body(Identity());
    case ops::Activation::kRelu:
      return body(Relu());
    case ops::Activation::kGelu:
      return body(Gelu());
    case ops::Activation::kSwish:
      return body(Swish());
    case ops::Activation::kSigmoid:
      return body(Sigmoid());
    case ops::Activation::kTanh:
      return body(Tanh());
    case ops::Activation::kGeluTanh:
      return body(GeluTanh());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
