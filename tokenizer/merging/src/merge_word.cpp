#include "merging/merge_word.h"

#include "merging/short_word_merge.h"

#include <algorithm>
#include <functional>

#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;

/// A word as a linked list with a heap of possible merges. A merge is packed as (rank, position), so that merges sort
/// by rank, then leftmost. A heap entry is stale if the pair at its position now has another rank.
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
      check_(10);
      ranks_[i] = rank_at(i);
      if (ranks_[i] != MergeTable::kNoRank) heap_.push_back(entry(i));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  /// Removes the best possible merge from the heap. Returns false if there is none.
  bool pop(std::uint64_t& best) {
    while (!heap_.empty()) {
      check_(100);
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      best = heap_.back();
      heap_.pop_back();
      if (is_current(best)) return true;
    }
    return false;
  }

  /// Like pop(), but only for a merge with the rank of `best`.
  bool pop_equal(std::uint64_t& best) {
    const std::uint64_t rank = best >> 32;
    while (!heap_.empty() && heap_.front() >> 32 == rank) {
      check_(100);
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      best = heap_.back();
      heap_.pop_back();
      if (is_current(best)) return true;
    }
    return false;
  }

  /// Returns whether a merge returned by pop() is still possible.
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
  core::StopCheck check_{"encoding a text"};
};

void merge_linked(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers) {
  LinkedWord linked(table, word, buffers);
  std::uint64_t best;
  while (linked.pop(best)) linked.apply(best);
  linked.compact();
}

/// Splits a long word where no merge can cross, and merges the parts one by one. A line without spaces thus takes
/// linear time, and little of it is read twice. Returns false if there is no such place.
bool merge_parts(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers) {
  std::size_t kept = 0;
  core::StopCheck check("encoding a text");
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = begin + 1;
    while (end < word.size() && table.may_join(word[end - 1].id, word[end].id)) ++end;
    if (begin == 0 && end == word.size()) return false;
    check(10 * (end - begin));
    buffers.part.assign(word.begin() + static_cast<std::ptrdiff_t>(begin),
                        word.begin() + static_cast<std::ptrdiff_t>(end));
    if (buffers.part.size() > kShortWord)
      merge_linked(table, buffers.part, buffers);
    else if (buffers.part.size() > 1)
      buffers.part.resize(merge_short(table, buffers.part.data(), buffers.part.size()));
    std::copy(buffers.part.begin(), buffers.part.end(), word.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += buffers.part.size();
    begin = end;
  }
  word.resize(kept);
  return true;
}

}  // namespace

void merge_exact(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers) {
  if (word.size() < 2) return;
  if (word.size() <= kShortWord) return word.resize(merge_short(table, word.data(), word.size()));
  if (merge_parts(table, word, buffers)) return;
  merge_linked(table, word, buffers);
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

// Visiting the possible merges from the best on, and dropping each until one is kept, selects like the paper's "drop
// all, then take the best of the rest", because the draws are independent. Dropped merges are possible again before the
// next merge.
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
