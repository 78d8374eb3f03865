// Loads, stores and loops over floats for whatever vector length the target has. Included once per target by Highway's
// foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_VECTOR_INL_H_
#undef DRAGOMAN_BACKEND_CPU_VECTOR_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_VECTOR_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;

HWY_INLINE std::size_t float_lanes() {
  return hn::Lanes(FloatTag());
}
HWY_INLINE Floats set(float value) {
  return hn::Set(FloatTag(), value);
}
HWY_INLINE Floats zero() {
  return hn::Zero(FloatTag());
}
HWY_INLINE Floats load(const float* from) {
  return hn::LoadU(FloatTag(), from);
}
HWY_INLINE void store(Floats value, float* to) {
  hn::StoreU(value, FloatTag(), to);
}

/// A full vector of floats.
struct WholeVector {
  HWY_INLINE Floats load(const float* from) const { return hn::LoadU(FloatTag(), from); }
  HWY_INLINE Floats load_or(const float* from, float) const { return hn::LoadU(FloatTag(), from); }
  HWY_INLINE Floats keep(Floats value) const { return value; }
  HWY_INLINE void store(Floats value, float* to) const { hn::StoreU(value, FloatTag(), to); }
  HWY_INLINE std::size_t size() const { return float_lanes(); }
};

/// The last floats of a row, fewer than a vector. Memory beyond them is neither read nor written.
struct PartVector {
  std::size_t count;

  HWY_INLINE Floats load(const float* from) const { return load_or(from, 0.0F); }
  HWY_INLINE Floats load_or(const float* from, float fallback) const {
    const FloatTag d;
#if HWY_TARGET <= HWY_AVX2
    return hn::IfThenElse(hn::FirstN(d, count), hn::MaskedLoad(hn::FirstN(d, count), d, from), hn::Set(d, fallback));
#else
    HWY_ALIGN float buffer[hn::MaxLanes(d)];
    hn::Store(hn::Set(d, fallback), d, buffer);
    for (std::size_t i = 0; i < count; ++i) buffer[i] = from[i];
    return hn::Load(d, buffer);
#endif
  }
  /// Returns `value` with zeros beyond the part.
  HWY_INLINE Floats keep(Floats value) const {
    return hn::IfThenElseZero(hn::FirstN(FloatTag(), count), value);
  }
  HWY_INLINE void store(Floats value, float* to) const {
    const FloatTag d;
#if HWY_TARGET <= HWY_AVX2
    hn::BlendedStore(value, hn::FirstN(d, count), d, to);
#else
    HWY_ALIGN float buffer[hn::MaxLanes(d)];
    hn::Store(value, d, buffer);
    for (std::size_t i = 0; i < count; ++i) to[i] = buffer[i];
#endif
  }
  HWY_INLINE std::size_t size() const {
    return count;
  }
};

/// Calls body(first element, WholeVector or PartVector) along `count` elements.
template <class Body>
HWY_INLINE void for_each_vector(std::size_t count, const Body& body) {
  const std::size_t lanes = float_lanes();
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, WholeVector());
  if (i < count) body(i, PartVector{count - i});
}

/// Returns the sum over `count` elements of term(first element, vector), which must be 0 beyond the part. Four running
/// sums hide the latency of the addition. The order depends on `count` alone.
template <class Term>
HWY_INLINE float sum_of(std::size_t count, const Term& term) {
  const FloatTag d;
  const std::size_t lanes = float_lanes();
  Floats sum0 = zero();
  Floats sum1 = zero();
  Floats sum2 = zero();
  Floats sum3 = zero();
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::Add(sum0, term(i, WholeVector()));
    sum1 = hn::Add(sum1, term(i + lanes, WholeVector()));
    sum2 = hn::Add(sum2, term(i + 2 * lanes, WholeVector()));
    sum3 = hn::Add(sum3, term(i + 3 * lanes, WholeVector()));
  }
  for (; i + lanes <= count; i += lanes) sum0 = hn::Add(sum0, term(i, WholeVector()));
  if (i < count) sum1 = hn::Add(sum1, term(i, PartVector{count - i}));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
}

/// Returns the maximum of `count` floats; -infinity if there are none.
HWY_INLINE float max_of(const float* values, std::size_t count) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const std::size_t lanes = float_lanes();
  Floats max0 = set(kLowest);
  Floats max1 = max0;
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    max0 = hn::Max(max0, load(values + i));
    max1 = hn::Max(max1, load(values + i + lanes));
  }
  for (; i + lanes <= count; i += lanes) max0 = hn::Max(max0, load(values + i));
  if (i < count) max1 = hn::Max(max1, PartVector{count - i}.load_or(values + i, kLowest));
  return hn::GetLane(hn::MaxOfLanes(FloatTag(), hn::Max(max0, max1)));
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
