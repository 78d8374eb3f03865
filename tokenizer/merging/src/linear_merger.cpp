#include "merging/linear_merger.h"

#include <algorithm>
#include <limits>

#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {

LinearMerger::LinearMerger(const std::vector<Merge>& merges, const MergeTable& table, std::size_t pieces)
    : table_(&table), pieces_(pieces), is_proper_(prove(merges)) {
  if (!is_proper_) pieces_.clear();
}

/// Visits the merges in the order of their ranks, and records what produces each piece.
bool LinearMerger::prove(const std::vector<Merge>& merges) {
  std::vector<bool> is_side(pieces_.size(), false);
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right, result] = merges[rank];
    is_side[static_cast<std::size_t>(left)] = true;
    is_side[static_cast<std::size_t>(right)] = true;
    const bool stands_behind_its_use = is_side[static_cast<std::size_t>(result)];
    const bool is_second_spelling = piece(result).rank != MergeTable::kNoRank;
    const bool repeats_another = table_->rank(left, right) != rank;
    if (stands_behind_its_use || is_second_spelling || repeats_another) return false;
    const std::uint64_t symbols = std::uint64_t{piece(left).symbols} + piece(right).symbols;
    piece(result).rank = rank;
    piece(result).right = right;
    piece(result).symbols =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(symbols, std::numeric_limits<std::uint32_t>::max()));
    piece(right).first_rank_as_right = std::min(piece(right).first_rank_as_right, rank);
  }
  return true;
}

std::optional<std::uint64_t> LinearMerger::merge(std::vector<Symbol>& word) const {
  const auto is_made = [this](const Symbol& symbol) { return piece(symbol.id).rank != MergeTable::kNoRank; };
  if (!is_proper_ || std::any_of(word.begin(), word.end(), is_made)) return std::nullopt;
  std::uint64_t looked_up = 0;
  core::StopCheck check("encoding a text");
  for (std::size_t i = 0; i < word.size(); ++i) {
    check(20);
    word[i].id = last_piece(word.data(), i, word[i].id, looked_up);
  }
  keep_last_pieces(word);
  return looked_up;
}

/// Returns the last piece of the encoding of the first `before` symbols and one more. word[i].id is the last piece of
/// the first i + 1 symbols.
///
/// The new symbol merges with the piece on its left at that time, and so does each piece that it becomes. The piece on
/// the left is first the last symbol of the final piece there, then the piece which that symbol becomes, and so on up
/// to the whole final piece. Each of these exists from the merge that produces it until the merge that consumes it. The
/// new symbol joins the first one for which their merge comes before the consuming merge. At equal ranks, the merge on
/// the left comes first.
std::int32_t LinearMerger::last_piece(const Symbol* word, std::size_t before, std::int32_t symbol,
                                      std::uint64_t& looked_up) const {
  std::int32_t last = symbol;
  while (before > 0) {
    const std::uint32_t first_rank = piece(last).first_rank_as_right;
    std::uint32_t best = MergeTable::kNoRank;
    std::uint32_t joined = 0;
    std::uint32_t end = MergeTable::kNoRank;  // the rank of the merge that consumes `left`
    for (std::int32_t left = word[before - 1].id; first_rank < end; left = piece(left).right) {
      const std::uint32_t rank = table_->rank(left, last);
      ++looked_up;
      if (rank < end) {
        best = rank;
        joined = piece(left).symbols;
      }
      end = piece(left).rank;
      if (end == MergeTable::kNoRank) break;
    }
    if (best == MergeTable::kNoRank) break;
    last = table_->result(best);
    before -= joined;
  }
  return last;
}

/// Converts the last pieces of the prefixes to the pieces of the whole word. From the end of the word on, each piece
/// determines the end of the previous one.
void LinearMerger::keep_last_pieces(std::vector<Symbol>& word) const {
  std::size_t kept = word.size();
  core::StopCheck check("encoding a text");
  for (std::size_t end = word.size(); end > 0;) {
    const std::int32_t id = word[end - 1].id;
    const std::size_t begin = end - piece(id).symbols;
    check(end - begin);
    std::uint32_t length = 0;
    for (std::size_t i = begin; i < end; ++i) length += word[i].length;
    word[--kept] = {id, length};
    end = begin;
  }
  word.erase(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(kept));
}

}  // namespace dragoman::tokenizer
