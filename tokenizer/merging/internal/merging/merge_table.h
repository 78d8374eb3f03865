#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <dragoman/core/hash.h>
#include <dragoman/core/huge_pages.h>
#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A piece of a word that is being encoded, and the number of bytes (after normalisation) that it spans.
struct Symbol {
  std::int32_t id;
  std::uint32_t length;
};

/// The ranks of the merges by pair. Each pair has two places, of eight bytes that hold pair and rank, and is in one of
/// them (cuckoo hashing): a look-up is two loads at a time and no branch, and most of the time of encoding an unknown
/// word goes into waiting for look-ups and for branches that were foretold wrongly.
class MergeTable {
 public:
  static constexpr int kRankBits = 22;
  static constexpr std::uint32_t kNoRank = (std::uint32_t{1} << kRankBits) - 1;
  static constexpr std::int32_t kNoPiece = (std::int32_t{1} << 21) - 1;  ///< merges with nothing
  static constexpr std::size_t kMaxPieces = kNoPiece;
  static constexpr std::size_t kMaxMerges = kNoRank;

  /// Ids are below kMaxPieces, and there are at most kMaxMerges. Of equal pairs the first counts. Throws
  /// Error{kUnsupported} for merges that fit into no table, which only ones made for that purpose do.
  explicit MergeTable(const std::vector<Merge>& merges);

  /// The rank of the merge of two pieces, or kNoRank.
  std::uint32_t rank(std::int32_t left, std::int32_t right) const noexcept {
    const std::uint64_t pair = pack(left, right);
    const std::uint64_t here = slots_[place(pair, 0)] ^ (pair << kRankBits);  // the rank if the pairs are equal
    const std::uint64_t there = slots_[place(pair, 1)] ^ (pair << kRankBits);
    return static_cast<std::uint32_t>(std::min({here, there, std::uint64_t{kNoRank}}));
  }
  /// Fetches what rank() will look at.
  void prefetch(std::int32_t left, std::int32_t right) const noexcept {
    const std::uint64_t pair = pack(left, right);
    __builtin_prefetch(&slots_[place(pair, 0)]);
    __builtin_prefetch(&slots_[place(pair, 1)]);
  }
  std::int32_t result(std::uint32_t rank) const noexcept {
    return results_.empty() ? first_result_ + static_cast<std::int32_t>(rank) : results_[rank];
  }
  /// No merge of a lower rank ever joins two neighbouring symbols of an unmerged word, whatever they became a part of.
  /// As a rule this is the lowest rank that does, but now and then a lower one; above all ranks if none does.
  std::uint32_t join_rank(std::int32_t left, std::int32_t right) const noexcept {
    return std::uint32_t{joins_[join_place(left, right)]} << join_rounding_;
  }
  bool may_join(std::int32_t left, std::int32_t right) const noexcept {
    return joins_[join_place(left, right)] != kNoJoin;
  }
  /// Of any rank, kNoRank too, which is no place in a list: so the address is a number until it is asked for.
  void prefetch_result(std::uint32_t rank) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(results_.data()) + rank * sizeof(std::int32_t);
    __builtin_prefetch(reinterpret_cast<const void*>(address));
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // of two kNoPiece, with the rank kNoRank

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
  // Pieces of a learned list are numbered in the order of their merges, so that there is nothing to look up.
  std::int32_t first_result_ = 0;
  std::vector<std::int32_t> results_;  // empty if they are
  // The last bits of ranks that have more than 16 are left out, so that the table stays in the caches.
  static constexpr std::uint16_t kNoJoin = 0xFFFF;
  std::vector<std::uint16_t> joins_;  // a place for each pair, which may be that of others, too
  int join_shift_ = 0;
  int join_rounding_ = 0;
};

}  // namespace dragoman::tokenizer
