#include "merging/word_group.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "word_group.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dragoman::tokenizer {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kWords = WordGroup::kWords;

constexpr hn::CappedTag<std::uint32_t, WordGroup::kWords> kLanes{};
using Vector = hn::Vec<decltype(kLanes)>;

/// At most kWords words during merging.
class GroupMerging {
 public:
  GroupMerging(const MergeTable& table, WordGroup::Rows& rows) : table_(table), rows_(rows) {}

  /// Takes at most kWords words, the longest last.
  void begin(WordIds* const* words, std::size_t count) {
    end_ = (words[count - 1]->size + 1) * kWords;
    const std::size_t places = end_ + kWords;
    for (std::size_t place = 0; place < places; ++place) {
      rows_.ids[place] = MergeTable::kNoPiece;
      rows_.ranks[place] = MergeTable::kNoRank;
      rows_.joins[place] = MergeTable::kNoRank;
      rows_.next[place] = static_cast<std::uint16_t>(place + kWords);
      rows_.previous[place] = static_cast<std::uint16_t>(place - kWords);
    }
    for (std::size_t w = 0; w < count; ++w) {
      const WordIds& word = *words[w];
      std::size_t place = kWords + w;
      for (std::size_t i = 0; i + 1 < word.size; ++i, place += kWords) {
        rows_.ids[place] = word.ids[i];
        rows_.ranks[place] = table_.rank(word.ids[i], word.ids[i + 1]);
        rows_.joins[place] = table_.join_rank(word.ids[i], word.ids[i + 1]);
      }
      rows_.ids[place] = word.ids[word.size - 1];
    }
  }

  /// Returns false if there was nothing left to merge.
  bool round() {
    const std::size_t due = find_due();
    for (std::size_t i = 0; i < due; ++i) join(rows_.due[i]);
    for (std::size_t i = 0; i < due; ++i) look_up(rows_.due[i]);
    return due > 0;
  }

  void end(WordIds* const* words, std::size_t count) const {
    for (std::size_t w = 0; w < count; ++w) {
      WordIds& word = *words[w];
      std::uint32_t kept = 0;
      for (std::size_t i = 1; i <= word.size; ++i) {
        const std::int32_t id = rows_.ids[i * kWords + w];
        word.ids[kept] = id;
        kept += id >= 0 ? 1 : 0;
      }
      word.size = kept;
    }
  }

 private:
  static Vector crossed(Vector rank, Vector join, Vector before) { return hn::Min(rank, hn::Max(join, before)); }

  /// Whether the processor can compress a vector. Highway's substitute reads a table, which GCC copies to the stack for
  /// each vector. With AVX2, that took a third of the time of encoding. CompressStore takes a hundred cycles on some
  /// processors.
  static constexpr bool kCompresses = HWY_TARGET <= HWY_AVX3;

  static std::uint64_t bits_of(hn::Mask<decltype(kLanes)> mask) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(kLanes, mask, bytes);
    std::uint64_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    return bits;
  }

  std::size_t find_due() {
    constexpr std::size_t kVectors = kWords / hn::MaxLanes(kLanes);
    const auto at = [](auto* row, std::size_t v) { return row + v * hn::MaxLanes(kLanes); };
    Vector side[kVectors];
    std::fill(side, side + kVectors, hn::Set(kLanes, MergeTable::kNoRank));
    for (std::size_t row = kWords; row < end_; row += kWords) HWY_UNROLL(kVectors)
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::Store(side[v], kLanes, at(rows_.lefts + row, v));
      const Vector rank = hn::Load(kLanes, at(rows_.ranks + row, v));
      side[v] = crossed(rank, hn::Load(kLanes, at(rows_.joins + row, v)), side[v]);
    }
    std::fill(side, side + kVectors, hn::Set(kLanes, MergeTable::kNoRank));
    const Vector lanes = hn::Iota(kLanes, 0U);
    std::size_t due = 0;
    for (std::size_t row = end_ - kWords; row > 0; row -= kWords) {
      std::uint64_t bits = 0;  // one for each word
      HWY_UNROLL(kVectors)
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Vector rank = hn::Load(kLanes, at(rows_.ranks + row, v));
        const Vector left = hn::Load(kLanes, at(rows_.lefts + row, v));
        const auto is_due = hn::AndNot(hn::Gt(rank, side[v]), hn::Lt(rank, left));
        side[v] = crossed(rank, hn::Load(kLanes, at(rows_.joins + row, v)), side[v]);
        const std::size_t first = v * hn::MaxLanes(kLanes);
        if constexpr (kCompresses) {
          const Vector places = hn::Add(hn::Set(kLanes, static_cast<std::uint32_t>(row + first)), lanes);
          hn::StoreU(hn::Compress(places, is_due), kLanes, rows_.due + due);
          due += hn::CountTrue(kLanes, is_due);
        } else {
          bits |= bits_of(is_due) << first;
        }
      }
      for (; bits != 0; bits &= bits - 1)
        rows_.due[due++] = static_cast<std::uint32_t>(row) + static_cast<std::uint32_t>(std::countr_zero(bits));
    }
    return due;
  }

  /// Merges the symbol at `place` with the next one. The position of the latter gets values that pass bounds on
  /// unchanged.
  HWY_INLINE void join(std::size_t place) {
    const std::size_t taken = rows_.next[place];
    const std::size_t after = rows_.next[taken];
    rows_.ids[place] = table_.result(rows_.ranks[place]);
    rows_.joins[place] = rows_.joins[taken];
    rows_.next[place] = static_cast<std::uint16_t>(after);
    rows_.previous[after] = static_cast<std::uint16_t>(place);
    rows_.ids[taken] = -1;
    rows_.ranks[taken] = MergeTable::kNoRank;
    rows_.joins[taken] = 0;
  }

  HWY_INLINE void look_up(std::size_t place) {
    const std::size_t before = rows_.previous[place];
    const std::int32_t id = rows_.ids[place];
    rows_.ranks[before] = table_.rank(rows_.ids[before], id);
    rows_.ranks[place] = table_.rank(id, rows_.ids[rows_.next[place]]);
  }

  const MergeTable& table_;
  WordGroup::Rows& rows_;
  std::size_t end_ = 0;  ///< the position of the last row, which contains no symbols
};

void merge_by_size(const MergeTable& table, WordGroup::Rows& rows, WordIds* const* words, std::size_t count) {
  GroupMerging merging(table, rows);
  for (std::size_t first = 0; first < count; first += kWords) {
    const std::size_t here = std::min(kWords, count - first);
    merging.begin(words + first, here);
    while (merging.round()) {
    }
    merging.end(words + first, here);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::tokenizer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::tokenizer {

HWY_EXPORT(merge_by_size);

void WordGroup::merge(const MergeTable& table, std::span<WordIds> words) {
  std::array<std::uint32_t, kMaxSymbols + 2> begins{};
  for (const WordIds& word : words) ++begins[word.size + 1];
  for (std::size_t size = 1; size < begins.size(); ++size) begins[size] += begins[size - 1];
  by_size_.resize(words.size());
  for (WordIds& word : words) by_size_[begins[word.size]++] = &word;
  const std::size_t empty = begins[0];
  HWY_DYNAMIC_DISPATCH(merge_by_size)(table, *rows_, by_size_.data() + empty, by_size_.size() - empty);
}

}  // namespace dragoman::tokenizer
#endif
