#include "merging/short_word_merge.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "short_word_merge.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dragoman::tokenizer {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One integer for each pair of neighbours: the rank of its merge, followed by the position of its left symbol. The
/// smallest one is the next merge. The integers stay in registers: loading a vector whose parts were just written would
/// wait until the writes have left the processor's store queue.
template <std::size_t kPlaces>
class Keys {
 public:
  static constexpr std::uint32_t kNone = MergeTable::kNoRank * kPlaces;

  Keys() = default;
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

/// A word during merging.
template <std::size_t kPlaces>
class Merging {
 public:
  Merging(const MergeTable& table, const Symbol* symbols, std::size_t size) : table_(table), size_(size) {
    for (std::size_t i = 0; i < kEnd; ++i) {
      next_[i] = static_cast<std::uint8_t>(i + 1);
      previous_[i + 1] = static_cast<std::uint8_t>(i);
    }
    ids_[0] = ids_[size + 1] = MergeTable::kNoPiece;
    for (std::size_t i = 0; i < size; ++i) ids_[i + 1] = symbols[i].id;
    std::uint32_t keys[kPlaces];
    std::fill(keys, keys + kPlaces, Keys<kPlaces>::kNone);
    for (std::uint32_t left = 1; left < size; ++left) keys[left - 1] = key(left, ids_[left], ids_[left + 1]);
    keys_ = Keys<kPlaces>(keys);
  }

  /// Applies the next merge. Returns false if there is none.
  HWY_INLINE bool step() {
    const std::uint32_t best = keys_.least();
    if (best >= Keys<kPlaces>::kNone) return false;
    merge(best);
    return true;
  }

  /// Visits the remaining symbols with their ids and the positions [begin, end) of their original symbols.
  template <class Visit>
  HWY_INLINE void for_each(const Visit& visit) const {
    for (std::size_t i = 1; i <= size_; i = next_[i]) visit(ids_[i], i - 1, next_[i] - 1u);
  }

 private:
  // Positions start at 1, and a neighbour at each end merges with nothing, so that the ends need no special case.
  static constexpr std::size_t kEnd = kPlaces + 1;

  HWY_INLINE std::uint32_t key(std::uint32_t left, std::int32_t a, std::int32_t b) const {
    return table_.rank(a, b) * static_cast<std::uint32_t>(kPlaces) + left - 1;
  }

  HWY_INLINE void merge(std::uint32_t best) {
    const std::uint32_t left = best % kPlaces + 1;
    const std::uint32_t right = next_[left];
    const std::uint32_t after = next_[right];
    const std::uint32_t before = previous_[left];
    const std::int32_t merged = table_.result(best / kPlaces);
    ids_[left] = merged;
    next_[left] = static_cast<std::uint8_t>(after);
    previous_[after] = static_cast<std::uint8_t>(left);
    // If there is no previous symbol, this writes to no lane.
    keys_.set(right - 1, Keys<kPlaces>::kNone);
    keys_.set(left - 1, key(left, merged, ids_[after]));
    keys_.set(before - 1, key(before, ids_[before], merged));
  }

  const MergeTable& table_;
  std::int32_t ids_[kEnd + 1];
  std::uint8_t next_[kEnd + 1];
  std::uint8_t previous_[kEnd + 1];
  std::size_t size_;
  Keys<kPlaces> keys_;
};

template <std::size_t kPlaces>
std::size_t merge_alone(const MergeTable& table, Symbol* word, std::size_t size) {
  Merging<kPlaces> merging(table, word, size);
  while (merging.step()) {
  }
  std::size_t kept = 0;
  merging.for_each([&](std::int32_t id, std::size_t begin, std::size_t end) {
    std::uint32_t length = 0;
    for (std::size_t part = begin; part < end; ++part) length += word[part].length;
    word[kept++] = {id, length};
  });
  return kept;
}

std::size_t merge_short_here(const MergeTable& table, Symbol* word, std::size_t size) {
  return size <= kShortWord / 2 ? merge_alone<kShortWord / 2>(table, word, size)
                                : merge_alone<kShortWord>(table, word, size);
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
