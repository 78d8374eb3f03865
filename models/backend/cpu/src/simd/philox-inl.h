// core::random_block for a vector's worth of blocks at a time. Included once per target by Highway's foreach_target.
#if defined(DRAGOMAN_BACKEND_CPU_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DRAGOMAN_BACKEND_CPU_PHILOX_INL_H_
#undef DRAGOMAN_BACKEND_CPU_PHILOX_INL_H_
#else
#define DRAGOMAN_BACKEND_CPU_PHILOX_INL_H_
#endif

#include "training/dropout_mask.h"
#include "vector-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

using WideTag = hn::ScalableTag<std::uint64_t>;
using WideWords = hn::Vec<WideTag>;

/// The four 32-bit words of one block per 64-bit lane. Only the low halves are used. A 32 x 32 bit multiplication
/// ignores the high halves, so they need not be cleared.
struct PhiloxWords {
  WideWords c0;
  WideWords c1;
  WideWords c2;
  WideWords c3;
};

HWY_INLINE WideWords multiply_low_halves(WideWords a, WideWords b) {
  const hn::RepartitionToNarrow<WideTag> narrow;
  return hn::MulEven(hn::BitCast(narrow, a), hn::BitCast(narrow, b));
}

HWY_INLINE PhiloxWords philox_rounds(PhiloxWords c, std::uint64_t seed) {
  const WideTag d;
  const WideWords multiplier0 = hn::Set(d, 0xD2511F53);
  const WideWords multiplier1 = hn::Set(d, 0xCD9E8D57);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const WideWords product0 = multiply_low_halves(multiplier0, c.c0);
    const WideWords product1 = multiply_low_halves(multiplier1, c.c2);
    c.c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), c.c1), hn::Set(d, std::uint64_t{key0}));
    c.c1 = product1;
    c.c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), c.c3), hn::Set(d, std::uint64_t{key1}));
    c.c3 = product0;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

/// Interleaves words `low` and `high` of each block.
HWY_INLINE WideWords join_words(WideWords low, WideWords high) {
  const hn::RepartitionToNarrow<WideTag> narrow;
  return hn::BitCast(WideTag(), hn::OddEven(hn::BitCast(narrow, hn::ShiftLeft<32>(high)), hn::BitCast(narrow, low)));
}

/// Stores the blocks first, first + 1, ... of the mask's stream: at least `blocks` of them, rounded up to whole
/// vectors. A block has 8 lanes of 16 bits in the order that ops/dropout.h documents.
HWY_INLINE void random_lanes(const DropoutMask& mask, std::uint64_t first, std::size_t blocks, std::uint16_t* lanes) {
  const WideTag d;
  const std::size_t per_vector = hn::Lanes(d);
  // In this order, the two interleaves at the end give consecutive blocks: even lanes hold the first half of them, odd
  // lanes the second half.
  HWY_ALIGN std::uint64_t order[hn::MaxLanes(d)];
  for (std::size_t i = 0; i < per_vector; ++i) order[i] = i / 2 + i % 2 * (per_vector / 2);
  const WideWords offsets = hn::Load(d, order);
  auto* to = reinterpret_cast<std::uint64_t*>(lanes);
  for (std::size_t block = 0; block < blocks; block += per_vector) {
    const WideWords index = hn::Add(hn::Set(d, first + block), offsets);
    const PhiloxWords c = philox_rounds(
        {index, hn::ShiftRight<32>(index), hn::Set(d, mask.stream & 0xFFFFFFFF), hn::Set(d, mask.stream >> 32)},
        mask.seed);
    const WideWords low = join_words(c.c0, c.c1);
    const WideWords high = join_words(c.c2, c.c3);
    hn::StoreU(hn::InterleaveLower(d, low, high), d, to + 2 * block);
    hn::StoreU(hn::InterleaveUpper(d, low, high), d, to + 2 * block + per_vector);
  }
}

/// The number of elements that are masked at a time; their factors stay in the first-level cache.
inline constexpr std::size_t kMaskChunk = 512;

/// Stores the factors of the elements first .. first + count: 0 or mask.scale. count <= kMaskChunk.
HWY_INLINE void mask_factors(const DropoutMask& mask, std::uint64_t first, std::size_t count, float* factors) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d_int;
  const hn::Rebind<std::uint16_t, FloatTag> d_lane;
  HWY_ALIGN std::uint16_t lanes[kMaskChunk + 16 + 8 * hn::MaxLanes(WideTag()) + hn::MaxLanes(d)];
  const std::size_t skip = first % 8;
  random_lanes(mask, first / 8, (skip + count + 7) / 8, lanes);
  const auto threshold = hn::Set(d_int, static_cast<std::int32_t>(mask.threshold));
  const Floats scale = set(mask.scale);
  const std::size_t step = float_lanes();
  for (std::size_t i = 0; i < count; i += step) {
    const auto bits = hn::PromoteTo(d_int, hn::LoadU(d_lane, lanes + skip + i));
    const auto dropped = hn::RebindMask(d, hn::Lt(bits, threshold));
    hn::StoreU(hn::IfThenZeroElse(dropped, scale), d, factors + i);
  }
}

/// mask_factors() for any count. It stores whole vectors in `factors`.
HWY_INLINE void many_mask_factors(const DropoutMask& mask, std::uint64_t first, std::size_t count, float* factors) {
  for (std::size_t begin = 0; begin < count; begin += kMaskChunk)
    mask_factors(mask, first + begin, std::min(kMaskChunk, count - begin), factors + begin);
}

/// A buffer for mask_factors(), with room for whole vectors.
struct MaskFactors {
  HWY_ALIGN float values[kMaskChunk + hn::MaxLanes(FloatTag())];
};

/// Calls body(begin, count, factors) for consecutive chunks that cover `count` elements, starting with index `first`.
template <class Body>
HWY_INLINE void for_each_masked_chunk(const DropoutMask& mask, std::uint64_t first, std::size_t count,
                                      const Body& body) {
  MaskFactors factors;
  for (std::size_t begin = 0; begin < count; begin += kMaskChunk) {
    const std::size_t chunk = std::min(kMaskChunk, count - begin);
    mask_factors(mask, first + begin, chunk, factors.values);
    body(begin, chunk, static_cast<const float*>(factors.values));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
