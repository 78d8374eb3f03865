#include "merge_short.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "merge_short.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dragoman::tokenizer {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One integer for each pair of neighbours, the rank of its merge and then the place of its left symbol, so that the
/// merge to make next is their least. They stay in registers: reading a vector that was written in parts a moment ago
/// would wait until those writes have left the processor's queue.
template <std::size_t kPlaces>
class Keys {
 public:
  static constexpr std::uint32_t kNone = MergeTable::kNoRank * kPlaces;

  explicit Keys(const std::uint32_t* keys) {
    for (std::size_t v = 0; v < kVectors; ++v) vectors_[v] = hn::LoadU(kTag, keys + v * kLanes);
  }
  HWY_INLINE void set(std::uint32_t place, std::uint32_t key) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto here = hn::Eq(hn::Iota(kTag, static_cast<std::uint32_t>(v * kLanes)), hn::Set(kTag, place));
      vectors_[v] = hn::IfThenElse(here, hn::Set(kTag, key), vectors_[v]);
    }
  }
  HWY_INLINE std::uint32_t least() const {
    Vector least = vectors_[0];
    for (std::size_t v = 1; v < kVectors; ++v) least = hn::Min(least, vectors_[v]);
    return hn::GetLane(hn::MinOfLanes(kTag, least));
  }

 private:
  static constexpr hn::CappedTag<std::uint32_t, kPlaces> kTag{};
  static constexpr std::size_t kLanes = hn::MaxLanes(kTag);
  static constexpr std::size_t kVectors = kPlaces / kLanes;
  using Vector = hn::Vec<decltype(kTag)>;
  Vector vectors_[kVectors];
};

template <std::size_t kPlaces>
std::size_t merge_within(const MergeTable& table, Symbol* word, std::size_t size) {
  // Places from 1 on, with a neighbour at both ends that merges with nothing, so that no end is a special case.
  std::int32_t ids[kPlaces + 2];
  std::uint8_t next[kPlaces + 2];
  std::uint8_t previous[kPlaces + 2];
  std::uint32_t keys[kPlaces];
  const auto key = [&](std::uint32_t left, std::int32_t a, std::int32_t b) {
    const std::uint32_t rank = table.rank(a, b);
    table.prefetch_result(rank);
    return rank * static_cast<std::uint32_t>(kPlaces) + left - 1;
  };
  ids[0] = MergeTable::kNoPiece;
  for (std::size_t i = 0; i < kPlaces + 1; ++i) {
    next[i] = static_cast<std::uint8_t>(i + 1);
    previous[i + 1] = static_cast<std::uint8_t>(i);
  }
  for (std::size_t i = 0; i < size; ++i) ids[i + 1] = word[i].id;
  ids[size + 1] = MergeTable::kNoPiece;
  std::fill(keys, keys + kPlaces, Keys<kPlaces>::kNone);
  for (std::uint32_t left = 1; left < size; ++left) keys[left - 1] = key(left, ids[left], ids[left + 1]);

  Keys<kPlaces> ranked(keys);
  for (std::uint32_t best = ranked.least(); best < Keys<kPlaces>::kNone; best = ranked.least()) {
    const std::uint32_t left = best % kPlaces + 1;
    const std::uint32_t right = next[left];
    const std::uint32_t after = next[right];
    const std::uint32_t before = previous[left];
    const std::int32_t merged = table.result(best / kPlaces);
    ids[left] = merged;
    next[left] = static_cast<std::uint8_t>(after);
    previous[after] = static_cast<std::uint8_t>(left);
    ranked.set(right - 1, Keys<kPlaces>::kNone);
    ranked.set(left - 1, key(left, merged, ids[after]));
    ranked.set(before - 1, key(before, ids[before], merged));  // in no lane if there is none before
  }

  std::size_t kept = 0;
  for (std::size_t i = 1; i <= size; i = next[i]) {
    std::uint32_t length = 0;
    for (std::size_t part = i; part < next[i]; ++part) length += word[part - 1].length;
    word[kept++] = {ids[i], length};
  }
  return kept;
}

std::size_t merge_short_here(const MergeTable& table, Symbol* word, std::size_t size) {
  constexpr std::size_t kUsual = 16;
  return size <= kUsual ? merge_within<kUsual>(table, word, size) : merge_within<kShortWord>(table, word, size);
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::tokenizer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::tokenizer {

HWY_EXPORT(merge_short_here);

std::size_t merge_short(const MergeTable& table, Symbol* word, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(merge_short_here)(table, word, size);
}

}  // namespace dragoman::tokenizer
#endif
