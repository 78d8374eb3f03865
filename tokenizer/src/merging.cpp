#include "merging.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace dragoman::tokenizer {
namespace {

/// Up to here a scan over all ranks is faster than a heap.
constexpr std::size_t kShortWord = 48;
constexpr std::uint32_t kNone = 0xFFFFFFFF;

/// A word of at most kShortWord symbols: the rank of each pair is kept beside the number of its first symbol in one
/// integer, so that the merge to make next is the least of an array, which takes a few vector instructions.
class ShortWord {
 public:
  ShortWord(const MergeTable& table, std::vector<Symbol>& word)
      : table_(table), word_(word.data()), size_(word.size()) {
    std::fill(std::begin(keys_), std::end(keys_), kNoMerge);
    for (std::uint32_t i = 0; i < size_; ++i) {
      next_[i] = static_cast<std::uint8_t>(i + 1);
      previous_[i + 1] = static_cast<std::uint8_t>(i);
      if (i + 1 < size_) keys_[i] = key(i, i + 1);
    }
  }

  void merge_all() {
    for (std::uint32_t best = least(); best < kNoMerge; best = least()) {
      const std::uint32_t left = best % kStride;
      const std::uint32_t right = next_[left];
      const std::uint32_t after = next_[right];
      word_[left] = {table_.result(best / kStride), word_[left].length + word_[right].length};
      next_[left] = static_cast<std::uint8_t>(after);
      previous_[after] = static_cast<std::uint8_t>(left);
      keys_[right] = kNoMerge;
      keys_[left] = after < size_ ? key(left, after) : kNoMerge;
      if (left > 0) keys_[previous_[left]] = key(previous_[left], left);
    }
  }

  /// Moves what is left together; returns how many symbols that is.
  std::size_t compact() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; i = next_[i]) word_[kept++] = word_[i];
    return kept;
  }

 private:
  static constexpr std::uint32_t kStride = 64;
  static constexpr std::size_t kRoom = (kShortWord + 7) / 8 * 8;
  static constexpr std::uint32_t kNoMerge = MergeTable::kNoRank * kStride;
  static_assert(kShortWord < kStride && MergeTable::kRankBits + 6 <= 32, "rank and place share 32 bits");

  std::uint32_t key(std::uint32_t left, std::uint32_t right) const {
    return table_.rank(word_[left].id, word_[right].id) * kStride + left;
  }
  std::uint32_t least() const {
    std::uint32_t best = kNoMerge;
    for (std::size_t i = 0; i < (size_ + 7) / 8 * 8; ++i) best = std::min(best, keys_[i]);
    return best;
  }

  const MergeTable& table_;
  Symbol* word_;
  std::size_t size_;
  std::uint32_t keys_[kRoom];
  std::uint8_t next_[kShortWord + 1];
  std::uint8_t previous_[kShortWord + 1];
};

/// A word as a linked list with a heap of possible merges, packed as (rank, position) so that the order is rank, then
/// leftmost. A heap entry is stale if the pair at its position has another rank by now.
class LinkedWord {
 public:
  LinkedWord(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers)
      : table_(table),
        word_(word),
        ranks_(buffers.ranks),
        previous_(buffers.previous),
        next_(buffers.next),
        heap_(buffers.heap) {
    const auto size = static_cast<std::uint32_t>(word.size());
    ranks_.assign(size, MergeTable::kNoRank);
    previous_.resize(size);
    next_.resize(size);
    heap_.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      previous_[i] = i == 0 ? kNone : i - 1;
      next_[i] = i + 1 < size ? i + 1 : kNone;
    }
    for (std::uint32_t i = 0; i < size; ++i) {
      ranks_[i] = rank_at(i);
      if (ranks_[i] != MergeTable::kNoRank) heap_.push_back(entry(i));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  /// Takes the best possible merge off the heap; false if there is none.
  bool pop(std::uint64_t& best) {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      best = heap_.back();
      heap_.pop_back();
      if (is_current(best)) return true;
    }
    return false;
  }

  /// As pop(), but only for a merge of the rank of `best`.
  bool pop_equal(std::uint64_t& best) {
    const std::uint64_t rank = best >> 32;
    while (!heap_.empty() && heap_.front() >> 32 == rank) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      best = heap_.back();
      heap_.pop_back();
      if (is_current(best)) return true;
    }
    return false;
  }

  /// Whether what pop() gave is still possible.
  bool is_current(std::uint64_t merge) const { return ranks_[position(merge)] == merge >> 32; }

  void push(std::uint64_t merge) {
    heap_.push_back(merge);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  void apply(std::uint64_t merge) {
    const std::uint32_t left = position(merge);
    const std::uint32_t right = next_[left];
    word_[left] = {table_.result(static_cast<std::uint32_t>(merge >> 32)), word_[left].length + word_[right].length};
    next_[left] = next_[right];
    if (next_[right] != kNone) previous_[next_[right]] = left;
    ranks_[right] = MergeTable::kNoRank;
    refresh(left);
    if (previous_[left] != kNone) refresh(previous_[left]);
  }

  void compact() {
    std::size_t size = 0;
    for (std::uint32_t i = 0; i != kNone; i = next_[i]) word_[size++] = word_[i];
    word_.resize(size);
  }

 private:
  static std::uint32_t position(std::uint64_t merge) { return static_cast<std::uint32_t>(merge); }
  std::uint64_t entry(std::uint32_t i) const { return (static_cast<std::uint64_t>(ranks_[i]) << 32) | i; }
  std::uint32_t rank_at(std::uint32_t i) const {
    return next_[i] == kNone ? MergeTable::kNoRank : table_.rank(word_[i].id, word_[next_[i]].id);
  }
  void refresh(std::uint32_t i) {
    ranks_[i] = rank_at(i);
    if (ranks_[i] != MergeTable::kNoRank) push(entry(i));
  }

  const MergeTable& table_;
  std::vector<Symbol>& word_;
  std::vector<std::uint32_t>& ranks_;
  std::vector<std::uint32_t>& previous_;
  std::vector<std::uint32_t>& next_;
  std::vector<std::uint64_t>& heap_;
};

}  // namespace

MergeTable::MergeTable(const std::vector<Merge>& merges)
    : slots_(std::bit_ceil(merges.size() * 2 + 2), kFree),
      mask_(slots_.size() - 1),
      shift_(64 - std::countr_zero(slots_.size())) {
  results_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    results_.push_back(merges[rank].result);
    const std::uint64_t pair = pack(merges[rank].left, merges[rank].right);
    std::size_t i = home(pair);
    while (slots_[i] != kFree) i = (i + 1) & mask_;
    slots_[i] = (pair << kRankBits) | rank;
  }
}

void merge_exact(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers) {
  if (word.size() < 2) return;
  if (word.size() <= kShortWord) {
    ShortWord short_word(table, word);
    short_word.merge_all();
    return word.resize(short_word.compact());
  }
  LinkedWord linked(table, word, buffers);
  std::uint64_t best;
  while (linked.pop(best)) linked.apply(best);
  linked.compact();
}

bool rounds_matter(const std::vector<Merge>& merges, std::size_t pieces) {
  std::vector<bool> used(pieces, false);
  for (const Merge& merge : merges) {
    if (used[static_cast<std::size_t>(merge.result)]) return true;
    used[static_cast<std::size_t>(merge.left)] = true;
    used[static_cast<std::size_t>(merge.right)] = true;
  }
  return false;
}

void merge_in_rounds(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers) {
  if (word.size() < 2) return;
  LinkedWord linked(table, word, buffers);
  std::uint64_t best;
  while (linked.pop(best)) {
    buffers.round.assign(1, best);
    while (linked.pop_equal(best)) buffers.round.push_back(best);
    for (const std::uint64_t merge : buffers.round)
      if (linked.is_current(merge)) linked.apply(merge);
  }
  linked.compact();
}

// Going through the possible merges from the best on, and dropping each until one stays, chooses like the paper's "drop
// all, then take the best of the rest": the draws are independent. What was dropped is possible again before the next
// merge.
void merge_with_dropout(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers,
                        core::FunctionRef<bool()> drop) {
  if (word.size() < 2) return;
  LinkedWord linked(table, word, buffers);
  buffers.dropped.clear();
  std::uint64_t best;
  while (linked.pop(best)) {
    if (drop()) {
      buffers.dropped.push_back(best);
      continue;
    }
    linked.apply(best);
    for (const std::uint64_t merge : buffers.dropped) linked.push(merge);
    buffers.dropped.clear();
  }
  linked.compact();
}

}  // namespace dragoman::tokenizer
