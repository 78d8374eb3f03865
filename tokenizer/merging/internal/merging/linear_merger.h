#pragma once

#include "merging/merge_table.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dragoman::tokenizer {

/// Merges words in linear time, whatever they consist of, for merge tables that are proved proper.
///
/// The word is encoded symbol by symbol. The encoding of each prefix is the encoding of a shorter prefix followed by
/// one last piece. The last pieces of all prefixes therefore determine everything, and each follows from the ones
/// before. This takes two or three look-ups of pairs per symbol, and at most (d + 1)^2 if pieces are nested d deep.
///
/// A table is proper if each merge has a higher rank than the merges that produce its sides, and if no piece is
/// produced by two merges. Merges then happen in the order of their ranks, and the history of a piece is known from the
/// piece alone. Learned tables are proper. A merge that can never happen, because others always come first, is
/// harmless: no prefix ends with its piece.
class LinearMerger {
 public:
  /// `table` must be built from `merges` and outlive the merger. Ids must be below `pieces`. Takes time linear in both.
  LinearMerger(const std::vector<Merge>& merges, const MergeTable& table, std::size_t pieces);

  bool is_proper() const noexcept { return is_proper_; }
  /// Like merge_exact(), in the word's own memory. Returns the number of look-ups of pairs. Returns nullopt and leaves
  /// the word unchanged if the table is not proper, or if a merge also produces one of the word's symbols.
  std::optional<std::uint64_t> merge(std::vector<Symbol>& word) const;

 private:
  struct Piece {
    std::uint32_t rank = MergeTable::kNoRank;  ///< of the merge that produces it; kNoRank for a symbol
    std::int32_t right = MergeTable::kNoPiece;
    std::uint32_t symbols = 1;  ///< the number of symbols in it; numbers above the length of any word are not counted
    std::uint32_t first_rank_as_right = MergeTable::kNoRank;  ///< the lowest rank of a merge with it as the right side
  };
  bool prove(const std::vector<Merge>& merges);
  const Piece& piece(std::int32_t id) const noexcept { return pieces_[static_cast<std::size_t>(id)]; }
  Piece& piece(std::int32_t id) noexcept { return pieces_[static_cast<std::size_t>(id)]; }
  std::int32_t last_piece(const Symbol* word, std::size_t before, std::int32_t symbol, std::uint64_t& looked_up) const;
  void keep_last_pieces(std::vector<Symbol>& word) const;

  const MergeTable* table_;
  std::vector<Piece> pieces_;  // by id
  bool is_proper_ = true;
};

}  // namespace dragoman::tokenizer
