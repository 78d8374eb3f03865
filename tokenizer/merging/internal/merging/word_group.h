#pragma once

#include "merging/merge_table.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dragoman::tokenizer {

/// A word's symbols without their lengths, in memory of somebody else, where they are merged.
struct WordIds {
  std::int32_t* ids;
  std::uint32_t size;
};

/// merge_exact() for many words at a time, in tables without rounds_matter(). Words of about the same size stand side
/// by side, one in each lane of a vector, and each round makes all merges of all of them that nothing can forestall.
///
/// What can be made at once: merges happen in the order of their ranks, so a pair of rank r stays what it is until then
/// unless another merge takes away one of its sides before. What is left of the pair can do so only from its nearest
/// boundary on: that boundary is crossed by the merge of the two symbols at it, or else by one that joins what stands
/// there in the text (MergeTable::join_rank() is the lowest such rank), after the boundary before it was crossed. So
/// with k and j of each boundary, l = min(k, max(j, l of the boundary before)) is a rank below which it is not crossed
/// from there, and the same holds on the right. A pair is merged if its rank is below that on its left, and not above
/// that on its right: of equal ranks the leftmost comes first. The least rank of a word always is, so that each round
/// gets further; a word of text takes three to eight, however many merges it has.
class WordGroup {
 public:
  /// The most symbols of a word. Time is linear in it for text, but words can be made up that take a round for each
  /// merge.
  static constexpr std::size_t kMaxSymbols = 254;

  /// Leaves in each word, of at most kMaxSymbols, what merge_exact() does, and changes its size.
  void merge(const MergeTable& table, std::span<WordIds> words);

  static constexpr std::size_t kWords = 32;  ///< side by side
  /// One more at each end, which merge with nothing; and one so that rows of one number do not lie a multiple of 4096
  /// bytes apart, where a processor takes the reading of one for the reading of what was written to another.
  static constexpr std::size_t kRows = kMaxSymbols + 3;
  static constexpr std::size_t kPlaces = kWords * kRows;
  /// Row by row, a symbol of each word in each; what is about the boundary behind a symbol lies at the symbol.
  struct Rows {
    alignas(64) std::int32_t ids[kPlaces];  ///< -1 where a symbol has been merged with the one before
    std::uint32_t ranks[kPlaces];           ///< of the merge with the next symbol
    std::uint32_t joins[kPlaces];           ///< join_rank() of the boundary
    std::uint32_t lefts[kPlaces];           ///< the rank below which the boundary before is not crossed from the left
    std::uint32_t due[kPlaces];             ///< places of the symbols that are merged with the next in this round
    std::uint16_t next[kPlaces];
    std::uint16_t previous[kPlaces];
  };

 private:
  std::unique_ptr<Rows> rows_ = std::make_unique_for_overwrite<Rows>();
  std::vector<WordIds*> by_size_;
};

}  // namespace dragoman::tokenizer
