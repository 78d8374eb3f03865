#pragma once

#include "merging/merge_table.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dragoman::tokenizer {

/// A word's symbols without their lengths. They are merged in place, in memory that the caller owns.
struct WordIds {
  std::int32_t* ids;
  std::uint32_t size;
};

/// merge_exact() for many words at a time, for tables without rounds_matter(). Words of similar size are processed side
/// by side, one in each lane of a vector. Each round applies all merges of all words that no other merge can prevent.
///
/// Which merges can be applied together? Merges happen in the order of their ranks. A pair of rank r therefore exists
/// until its turn unless an earlier merge takes one of its sides. From the left, such a merge must cross the pair's
/// left boundary. There are two ways to cross a boundary:
///
/// - the merge of the two symbols next to it, of rank k;
/// - after the previous boundary was crossed, a merge that joins the characters next to it. The lowest such rank is j =
///   MergeTable::join_rank().
///
/// Hence l = min(k, max(j, l of the previous boundary)) is a rank below which the boundary is not crossed from the
/// left. The right side is symmetric. A pair is merged if its rank is below the bound of its left boundary and not
/// above the bound of its right boundary: of equal ranks, the leftmost comes first. The lowest rank of a word always
/// satisfies this, so each round makes progress. A word of text takes three to eight rounds, however many merges it
/// has.
class WordGroup {
 public:
  /// The maximum number of symbols of a word. Time is linear in it for text, but words can be constructed that take a
  /// round for each merge.
  static constexpr std::size_t kMaxSymbols = 254;

  /// Replaces the symbols of each word, which has at most kMaxSymbols, by the result of merge_exact(), and updates its
  /// size.
  void merge(const MergeTable& table, std::span<WordIds> words);

  static constexpr std::size_t kWords = 32;  ///< side by side
  /// One extra row at each end, which merges with nothing, and one so that equal rows are not a multiple of 4096 bytes
  /// apart. At that distance, a processor mistakes a read of one for a read of data just written to the other.
  static constexpr std::size_t kRows = kMaxSymbols + 3;
  static constexpr std::size_t kPlaces = kWords * kRows;
  /// Rows with one symbol of each word. Values for the boundary after a symbol are stored at that symbol.
  struct Rows {
    alignas(64) std::int32_t ids[kPlaces];  ///< -1 if the symbol has been merged with the previous one
    std::uint32_t ranks[kPlaces];           ///< of the merge with the next symbol
    std::uint32_t joins[kPlaces];           ///< join_rank() of the boundary
    std::uint32_t lefts[kPlaces];           ///< the rank below which the previous boundary is not crossed from the left
    /// Positions of the symbols that are merged with the next one in this round.
    std::uint32_t due[kPlaces];
    std::uint16_t next[kPlaces];
    std::uint16_t previous[kPlaces];
  };

 private:
  std::unique_ptr<Rows> rows_ = std::make_unique_for_overwrite<Rows>();
  std::vector<WordIds*> by_size_;
};

}  // namespace dragoman::tokenizer
