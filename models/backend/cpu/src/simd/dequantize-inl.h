// Sums of int8 products as floats. Included once per target by Highway's foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_DEQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_DEQUANTIZE_INL_H_
#undef DRAGOMAN_BACKEND_CPU_DEQUANTIZE_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_DEQUANTIZE_INL_H_
#endif

#include "rounding.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// A row of a product of floats.
struct FloatProduct {
  template <class Vector>
  HWY_INLINE Floats load(const float* row, std::size_t i, const Vector& vector) const {
    return vector.load(row + i);
  }
};

/// A row of sums of int8 products; `from` points to the first one.
struct Int8Product {
  Floats row_scale;
  const float* col_scales;
  const std::int32_t* zero_sums;

  explicit HWY_INLINE Int8Product(const Dequantization& from)
      : row_scale(set(*from.row_scales)), col_scales(from.col_scales), zero_sums(from.zero_sums) {}

  template <class Vector>
  HWY_INLINE Floats load(const float* row, std::size_t i, const Vector& vector) const {
    const hn::RebindToSigned<FloatTag> d;
    const auto zero_sum = hn::BitCast(d, vector.load(reinterpret_cast<const float*>(zero_sums + i)));
    const Floats sum = hn::ConvertTo(FloatTag(), hn::Sub(hn::BitCast(d, vector.load(row + i)), zero_sum));
    return hn::Mul(sum, hn::Mul(row_scale, vector.load(col_scales + i)));
  }
};

/// Calls body with the matching kind of product.
template <class Body>
HWY_INLINE void visit_product(const Dequantization& dequantization, const Body& body) {
  if (dequantization)
    body(Int8Product(dequantization));
  else
    body(FloatProduct());
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
