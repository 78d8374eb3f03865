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

/// One integer for each pair of neighbours, the rank of its merge and then the place of its left symbol, so that the
/// merge to make next is their least. They stay in registers: reading a vector that was written in parts a moment ago
/// would wait until those writes have left the processor's queue.
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

/// Words in the course of being merged, kWords of them at a time.
template <std::size_t kPlaces, std::size_t kWords>
class Merging {
 public:
  explicit Merging(const MergeTable& table) : table_(table) {}

  /// ids(i) is the i-th of `size` symbols.
  template <class Ids>
  HWY_INLINE void begin(std::size_t w, std::size_t size, const Ids& ids) {
    Word& word = words_[w];
    for (std::size_t i = 0; i < kEnd; ++i) {
      word.next[i] = static_cast<std::uint8_t>(i + 1);
      word.previous[i + 1] = static_cast<std::uint8_t>(i);
    }
    word.next[kEnd] = kEnd;
    word.previous[kIdle] = kIdle;
    word.size = static_cast<std::uint32_t>(size);
    word.ids[0] = MergeTable::kNoPiece;
    for (std::size_t i = 0; i < size; ++i) word.ids[i + 1] = ids(i);
    word.ids[size + 1] = word.ids[kIdle] = word.ids[kEnd] = MergeTable::kNoPiece;
    std::uint32_t keys[kPlaces];
    std::fill(keys, keys + kPlaces, Keys<kPlaces>::kNone);
    for (std::uint32_t left = 1; left < size; ++left) keys[left - 1] = key(left, word.ids[left], word.ids[left + 1]);
    keys_[w] = Keys<kPlaces>(keys);
  }

  /// Makes the next merge of each word; false if none has one.
  HWY_INLINE bool step() {
    std::uint32_t best[kWords];
    std::uint32_t least = Keys<kPlaces>::kNone;
    HWY_UNROLL(8)
    for (std::size_t w = 0; w < kWords; ++w) {
      best[w] = keys_[w].least();
      least = std::min(least, best[w]);
    }
    if (least >= Keys<kPlaces>::kNone) return false;
    HWY_UNROLL(8)
    for (std::size_t w = 0; w < kWords; ++w) merge(w, best[w]);
    return true;
  }

  /// Visits the symbols that are left with their ids and the places [begin, end) of what they were made of.
  template <class Visit>
  HWY_INLINE void end(std::size_t w, const Visit& visit) const {
    const Word& word = words_[w];
    for (std::size_t i = 1; i <= word.size; i = word.next[i]) visit(word.ids[i], i - 1, word.next[i] - 1u);
  }

 private:
  // Places from 1 on, with a neighbour at both ends that merges with nothing, so that no end is a special case. Behind
  // them is a place where words that are done go on merging nothing with nothing, so that they need no branch.
  static constexpr std::size_t kIdle = kPlaces + 2;
  static constexpr std::size_t kEnd = kIdle + 1;

  struct Word {
    std::int32_t ids[kEnd + 1];
    std::uint8_t next[kEnd + 1];
    std::uint8_t previous[kEnd + 1];
    std::uint32_t size;
  };

  HWY_INLINE std::uint32_t key(std::uint32_t left, std::int32_t a, std::int32_t b) const {
    const std::uint32_t rank = table_.rank(a, b);
    table_.prefetch_result(rank);
    return rank * static_cast<std::uint32_t>(kPlaces) + left - 1;
  }

  HWY_INLINE void merge(std::size_t w, std::uint32_t best) {
    Word& word = words_[w];
    const bool idle = best >= Keys<kPlaces>::kNone;
    const std::uint32_t left = idle ? kIdle : best % kPlaces + 1;
    const std::uint32_t right = word.next[left];
    const std::uint32_t after = word.next[right];
    const std::uint32_t before = word.previous[left];
    const std::int32_t merged = table_.result(idle ? 0 : best / kPlaces);
    word.ids[left] = merged;
    word.next[left] = static_cast<std::uint8_t>(after);
    word.previous[after] = static_cast<std::uint8_t>(left);
    // In no lane if there is none before, or the word is idle.
    keys_[w].set(right - 1, Keys<kPlaces>::kNone);
    keys_[w].set(left - 1, key(left, merged, word.ids[after]));
    keys_[w].set(before - 1, key(before, word.ids[before], merged));
  }

  const MergeTable& table_;
  Word words_[kWords];
  Keys<kPlaces> keys_[kWords];
};

template <std::size_t kPlaces>
std::size_t merge_alone(const MergeTable& table, Symbol* word, std::size_t size) {
  Merging<kPlaces, 1> merging(table);
  merging.begin(0, size, [word](std::size_t i) { return word[i].id; });
  while (merging.step()) {
  }
  std::size_t kept = 0;
  merging.end(0, [&](std::int32_t id, std::size_t begin, std::size_t end) {
    std::uint32_t length = 0;
    for (std::size_t part = begin; part < end; ++part) length += word[part].length;
    word[kept++] = {id, length};
  });
  return kept;
}

std::size_t merge_short_here(const MergeTable& table, Symbol* word, std::size_t size) {
  return size <= ShortWord::kMost ? merge_alone<ShortWord::kMost>(table, word, size)
                                  : merge_alone<kShortWord>(table, word, size);
}

void merge_short_words_here(const MergeTable& table, ShortWord* const* words, std::size_t count) {
  // As many as have their keys in registers.
  constexpr std::size_t kWords = hn::MaxLanes(hn::CappedTag<std::uint32_t, ShortWord::kMost>()) / 2;
  static_assert(kWords > 0);
  for (std::size_t first = 0; first < count; first += kWords) {
    Merging<ShortWord::kMost, kWords> merging(table);
    const std::size_t here = std::min(kWords, count - first);
    HWY_UNROLL(8)
    for (std::size_t w = 0; w < kWords; ++w) {
      const ShortWord& word = *words[first + std::min(w, here - 1)];
      merging.begin(w, w < here ? word.size : 0, [&word](std::size_t i) { return word.ids[i]; });
    }
    while (merging.step()) {
    }
    for (std::size_t w = 0; w < here; ++w) {
      ShortWord& word = *words[first + w];
      std::uint32_t kept = 0;
      merging.end(w, [&](std::int32_t id, std::size_t, std::size_t) { word.ids[kept++] = id; });
      word.size = kept;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::tokenizer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::tokenizer {

HWY_EXPORT(merge_short_here);
HWY_EXPORT(merge_short_words_here);

std::size_t merge_short(const MergeTable& table, Symbol* word, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(merge_short_here)(table, word, size);
}

void merge_short_words(const MergeTable& table, std::span<ShortWord* const> words) {
  HWY_DYNAMIC_DISPATCH(merge_short_words_here)(table, words.data(), words.size());
}

}  // namespace dragoman::tokenizer
#endif
