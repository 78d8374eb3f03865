#pragma once

#include "merging/merge_table.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dragoman::tokenizer {

/// Merges words in linear time, whatever they consist of, for merge tables that are proved proper. The word is encoded
/// symbol by symbol: each prefix of it has an encoding of its own, which is that of a shorter prefix and one last piece
/// behind it. So the last pieces of all prefixes say everything, and each follows from those before. It takes two or
/// three look-ups of pairs for each symbol, and at most (d + 1)^2 where pieces are nested d deep.
///
/// A table is proper if each merge stands behind those that make its sides, and no piece is made by two merges. Then
/// merges happen in the order of their ranks, and how a piece came about is known from the piece alone. Learned tables
/// are of this kind. A merge that can never happen, because others always come before, does no harm: no prefix ends
/// with its piece.
class LinearMerger {
 public:
  /// `table` is made of `merges` and must outlive the merger; ids are below `pieces`. Takes time linear in both.
  LinearMerger(const std::vector<Merge>& merges, const MergeTable& table, std::size_t pieces);

  bool is_proper() const noexcept { return is_proper_; }
  /// As merge_exact(), in the word's own memory. Returns how many pairs were looked up, or nothing if the word stays as
  /// it is: the table is not proper, or one of the word's symbols is also made by a merge.
  std::optional<std::uint64_t> merge(std::vector<Symbol>& word) const;

 private:
  struct Piece {
    std::uint32_t rank = MergeTable::kNoRank;  ///< of the merge that makes it; kNoRank for a symbol
    std::int32_t right = MergeTable::kNoPiece;
    std::uint32_t symbols = 1;  ///< how many it consists of; more than any word has are not counted
    std::uint32_t first_rank_as_right = MergeTable::kNoRank;  ///< the lowest of a merge that it is the right side of
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
