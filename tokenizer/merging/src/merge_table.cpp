#include "merging/merge_table.h"

#include <bit>
#include <numeric>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/hash.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {

MergeTable::MergeTable(const std::vector<Merge>& merges) {
  index_results(merges);
  constexpr int kAttempts = 16;
  int attempt = 0;
  while (attempt < kAttempts && !fill(merges, attempt)) ++attempt;
  core::require(attempt < kAttempts, core::ErrorCode::kUnsupported,
                "the {} merges cannot be put into a table: their ids collide in {} different ways", merges.size(),
                kAttempts);
  index_joins(merges);
}

void MergeTable::index_results(const std::vector<Merge>& merges) {
  for (const Merge& merge : merges) results_.push_back(merge.result);
  const auto skips = [](std::int32_t one, std::int32_t next) { return next != one + 1; };
  if (results_.empty() || std::ranges::adjacent_find(results_, skips) != results_.end()) return;
  first_result_ = results_.front();
  results_ = {};
}

/// A merge joins the last symbol of its left side and the first symbol of its right side. Each side is a single symbol,
/// or produced by a merge that usually has a lower rank.
void MergeTable::index_joins(const std::vector<Merge>& merges) {
  std::int32_t most = 0;
  for (const Merge& merge : merges) most = std::max({most, merge.left, merge.right, merge.result});
  const auto at = [](auto& list, std::int32_t id) -> auto& {
    return list[static_cast<std::size_t>(id)];
  };
  std::vector<std::int32_t> first(static_cast<std::size_t>(most) + 1);
  std::iota(first.begin(), first.end(), 0);
  std::vector<std::int32_t> last = first;
  for (const Merge& merge : merges) {
    at(first, merge.result) = at(first, merge.left);
    at(last, merge.result) = at(last, merge.right);
  }
  constexpr std::size_t kLeast = 1024;
  const std::size_t size = std::max(std::bit_ceil(merges.size()), kLeast);
  join_shift_ = 64 - std::countr_zero(size);
  while (merges.size() > std::size_t{kNoJoin} << join_rounding_) ++join_rounding_;
  joins_.assign(size, kNoJoin);
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    // This fails for a list in which a merge uses the result of a later one, or that spells a piece in two ways. Then
    // any pair may join.
    if (at(first, merge.result) != at(first, merge.left) || at(last, merge.result) != at(last, merge.right))
      return joins_.assign(joins_.size(), 0);
    // Includes the sides themselves: a last character with its mark may be both a symbol and the result of a merge.
    for (const std::int32_t left : {at(last, merge.left), merge.left})
      for (const std::int32_t right : {at(first, merge.right), merge.right}) {
        std::uint16_t& lowest = joins_[join_place(left, right)];
        lowest = std::min(lowest, static_cast<std::uint16_t>(rank >> join_rounding_));
      }
  }
}

/// Uses random multipliers for each attempt, and a larger table from the fourth attempt on.
bool MergeTable::fill(const std::vector<Merge>& merges, int attempt) {
  for (int which = 0; which < 2; ++which)
    multipliers_[which] = core::hash_integer(static_cast<std::uint64_t>(2 * attempt + which + 1)) | 1;
  const std::size_t size = std::bit_ceil(merges.size() * 2 + 2) << std::max(0, std::min(attempt - 3, 3));
  shift_ = 64 - std::countr_zero(size);
  // A table that does not fit into the inner caches gets a huge page, even if half of it is empty. Without TLB misses,
  // look-ups for Han text take 7 % less time.
  constexpr std::size_t kLarge = (std::size_t{1} << 18) / sizeof slots_[0];
  constexpr std::size_t kHugePage = (std::size_t{1} << 21) / sizeof slots_[0];
  if (size >= kLarge) slots_.reserve(kHugePage);
  slots_.assign(size, kFree);
  core::StopCheck check("opening a tokenizer");
  for (std::size_t r = 0; r < merges.size(); ++r) {
    check(50);
    if (rank(merges[r].left, merges[r].right) != kNoRank) continue;
    if (!insert((pack(merges[r].left, merges[r].right) << kRankBits) | r)) return false;
  }
  return true;
}

/// Moves an entry that occupies the slot to its other slot.
bool MergeTable::insert(std::uint64_t slot) {
  constexpr int kMoves = 500;
  std::size_t at = place(slot >> kRankBits, 0);
  for (int moves = 0; moves < kMoves; ++moves) {
    std::swap(slot, slots_[at]);
    if (slot == kFree) return true;
    const std::size_t first = place(slot >> kRankBits, 0);
    at = at == first ? place(slot >> kRankBits, 1) : first;
  }
  return false;
}

}  // namespace dragoman::tokenizer
