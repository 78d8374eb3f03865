#pragma once

#include "dragoman/tokenizer/bpe_definition.h"
#include "hash.h"

#include <cstdint>
#include <vector>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// A piece of a word that is being encoded, and the number of bytes (after normalisation) that it spans.
struct Symbol {
  std::int32_t id;
  std::uint32_t length;
};

/// The ranks of the merges by pair: open addressing over slots of eight bytes that hold pair and rank, since most of
/// the time of encoding an unknown word goes into waiting for this table.
class MergeTable {
 public:
  static constexpr int kRankBits = 22;
  static constexpr std::uint32_t kNoRank = (std::uint32_t{1} << kRankBits) - 1;
  static constexpr std::size_t kMaxPieces = std::size_t{1} << 21;
  static constexpr std::size_t kMaxMerges = kNoRank;

  /// Ids are below kMaxPieces, and there are at most kMaxMerges. Of equal pairs the first counts.
  explicit MergeTable(const std::vector<Merge>& merges);

  /// The rank of the merge of two pieces, or kNoRank.
  std::uint32_t rank(std::int32_t left, std::int32_t right) const noexcept {
    const std::uint64_t pair = pack(left, right);
    std::size_t i = home(pair);
    // One branch that is nearly always taken: whether it holds the pair or nothing, the slot's low bits are the answer.
    while ((int{slots_[i] >> kRankBits != pair} & int{slots_[i] != kFree}) != 0) i = (i + 1) & mask_;
    return static_cast<std::uint32_t>(slots_[i] & kNoRank);
  }
  std::int32_t result(std::uint32_t rank) const noexcept { return results_[rank]; }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // its rank is kNoRank, which no merge has

  static std::uint64_t pack(std::int32_t left, std::int32_t right) noexcept {
    return (static_cast<std::uint64_t>(left) << 21) | static_cast<std::uint64_t>(right);
  }
  std::size_t home(std::uint64_t pair) const noexcept { return (pair * kHashMultiplier) >> shift_; }

  std::vector<std::uint64_t> slots_;
  std::size_t mask_;
  int shift_;
  std::vector<std::int32_t> results_;
};

/// Buffers that words share, so that encoding a line does not allocate for each.
struct MergeBuffers {
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> previous;
  std::vector<std::uint32_t> next;
  std::vector<std::uint64_t> heap;
  std::vector<std::uint64_t> dropped;
  std::vector<std::uint64_t> round;
};

/// Applies the merge of lowest rank, leftmost first, until none is left. O(n log n) in the number of symbols.
void merge_exact(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers);

/// As subword-nmt does: all occurrences of the best merge, from left to right and without overlap, before the next is
/// looked for.
void merge_in_rounds(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers);

/// Whether merge_in_rounds() may differ from merge_exact(): a merge stands before one that makes its left or right
/// side.
bool rounds_matter(const std::vector<Merge>& merges, std::size_t pieces);

/// Algorithm 1 of Provilkov et al. 2020: before each merge, every possible one is left out if `drop()`; ends when none
/// remains.
void merge_with_dropout(const MergeTable& table, std::vector<Symbol>& word, MergeBuffers& buffers,
                        core::FunctionRef<bool()> drop);

}  // namespace dragoman::tokenizer
