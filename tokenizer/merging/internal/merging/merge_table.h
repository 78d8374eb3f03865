#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <dragoman/core/hash.h>
#include <dragoman/core/huge_pages.h>
#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A piece of a word during encoding, and the number of bytes (after normalisation) that it covers.
struct Symbol {
  std::int32_t id;
  std::uint32_t length;
};

/// The ranks of the merges by pair. Each pair is in one of two slots (cuckoo hashing), which hold pair and rank in
/// eight bytes. A look-up is two parallel loads without a branch: encoding an unknown word spends most of its time
/// waiting for look-ups and mispredicted branches.
class MergeTable {
 public:
  static constexpr int kRankBits = 22;
  static constexpr std::uint32_t kNoRank = (std::uint32_t{1} << kRankBits) - 1;
  static constexpr std::int32_t kNoPiece = (std::int32_t{1} << 21) - 1;  ///< never part of a merge
  static constexpr std::size_t kMaxPieces = kNoPiece;
  static constexpr std::size_t kMaxMerges = kNoRank;

  /// Ids must be below kMaxPieces, and there must be at most kMaxMerges. If a pair occurs twice, the first merge
  /// counts. Throws Error{kUnsupported} for merges that fit into no table, which happens only for merges constructed
  /// for this purpose.
  explicit MergeTable(const std::vector<Merge>& merges);

  /// Returns the rank of the merge of two pieces, or kNoRank.
  std::uint32_t rank(std::int32_t left, std::int32_t right) const noexcept {
    const std::uint64_t pair = pack(left, right);
    const std::uint64_t here = slots_[place(pair, 0)] ^ (pair << kRankBits);  // the rank if the pairs are equal
    const std::uint64_t there = slots_[place(pair, 1)] ^ (pair << kRankBits);
    return static_cast<std::uint32_t>(std::min({here, there, std::uint64_t{kNoRank}}));
  }
  std::int32_t result(std::uint32_t rank) const noexcept {
    return results_.empty() ? first_result_ + static_cast<std::int32_t>(rank) : results_[rank];
  }
  /// Returns a lower bound of the ranks of merges that join two neighbouring symbols of an unmerged word, whatever
  /// pieces they have become part of. Usually the bound is the lowest such rank, and sometimes it is lower. If no merge
  /// joins the symbols, it is above all ranks.
  std::uint32_t join_rank(std::int32_t left, std::int32_t right) const noexcept {
    return std::uint32_t{joins_[join_place(left, right)]} << join_rounding_;
  }
  bool may_join(std::int32_t left, std::int32_t right) const noexcept {
    return joins_[join_place(left, right)] != kNoJoin;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // of two kNoPiece with the rank kNoRank

  static std::uint64_t pack(std::int32_t left, std::int32_t right) noexcept {
    return (static_cast<std::uint64_t>(left) << 21) | static_cast<std::uint64_t>(right);
  }
  std::size_t place(std::uint64_t pair, int which) const noexcept { return (pair * multipliers_[which]) >> shift_; }
  bool fill(const std::vector<Merge>& merges, int attempt);
  bool insert(std::uint64_t slot);
  void index_results(const std::vector<Merge>& merges);
  void index_joins(const std::vector<Merge>& merges);
  std::size_t join_place(std::int32_t left, std::int32_t right) const noexcept {
    return (pack(left, right) * 0x9E3779B97F4A7C15u) >> join_shift_;  // Fibonacci hashing; a filter needs no secret
  }

  core::PageVector<std::uint64_t> slots_;
  std::uint64_t multipliers_[2] = {};
  int shift_ = 0;
  // Pieces of a learned list are numbered in the order of their merges, so no look-up is needed.
  std::int32_t first_result_ = 0;
  std::vector<std::int32_t> results_;  // empty in that case
  // Ranks of more than 16 bits lose their last bits, so that the table stays in the caches.
  static constexpr std::uint16_t kNoJoin = 0xFFFF;
  std::vector<std::uint16_t> joins_;  // one slot for each pair, possibly shared with others
  int join_shift_ = 0;
  int join_rounding_ = 0;
};

}  // namespace dragoman::tokenizer
