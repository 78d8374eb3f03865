#pragma once

#include "base/pair_map.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dragoman/core/huge_pages.h>

namespace dragoman::tokenizer {

inline constexpr std::int32_t kBarrierCell = -1;
/// The maximum number of cells of a text, and of positions of pairs. Both are indexed with 32 bits.
inline constexpr std::size_t kMaxCells = 0xFFFFFFFE;

/// The number of occurrences in the corpus of the words from cell `begin` on.
struct WordWeight {
  std::uint32_t begin;
  std::int64_t weight;
};

/// The data that PairStatistics and its shards share. Only `lengths` changes, between steps.
struct MergeText {
  core::PageVector<std::int32_t> cells;  ///< a shard writes only its own
  std::vector<WordWeight> weights;
  std::vector<std::uint32_t> lengths;  ///< of each symbol, in cells
};

/// One merge. `result` may be new, or a symbol with the same spelling.
struct MergeStep {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
  bool is_new;
};

/// The words in a range of cells, and the positions at which pairs begin in them. One thread works on a shard while a
/// pair is merged. Shards share no mutable data, so each step may run on all of them at the same time.
///
/// A symbol of n characters covers n cells, and its first and last cell hold it. Both neighbours are therefore found
/// without links. Cells consumed by a merge hold a value with which no pair begins. Lists of positions become stale and
/// are checked against the cells when they are used. In a run of k equal symbols, the pair of the symbol with itself
/// counts k / 2, the number of merges from the left.
class PairShard {
 public:
  /// The range [begin, end) in the shard's list of positions where a pair begins.
  struct Places {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t size() const { return end - begin; }
  };
  /// The effect of one step on the pairs with one neighbour.
  struct Change {
    std::int64_t lost = 0;        ///< occurrences next to the merged symbols
    std::int64_t gained = 0;      ///< occurrences next to the result
    std::uint32_t positions = 0;  ///< the number of new positions where the pair with the result begins
    std::uint32_t place = 0;      ///< after the step: the end of these positions
    bool touched = false;
    Places places() const { return {place - positions, place}; }
  };
  /// The changes on one side of the merged symbols, by neighbour.
  class Side {
   public:
    Change& at(std::int32_t neighbour);
    const Change& operator[](std::int32_t neighbour) const { return changes_[static_cast<std::size_t>(neighbour)]; }
    const std::vector<std::int32_t>& touched() const noexcept { return touched_; }
    void make_room(std::size_t symbols) { changes_.resize(symbols); }
    void clear();

   private:
    friend class PairShard;
    void add_begin(std::int32_t neighbour, std::uint32_t cell);
    /// One occurrence with the neighbour loses the merged symbol and gains the result, and begins at `cell` then.
    void replace(std::int32_t neighbour, std::uint32_t cell, std::int64_t weight);

    std::vector<Change> changes_;
    std::vector<std::int32_t> touched_;
    std::vector<std::pair<std::int32_t, std::uint32_t>> begins_;  // where pairs with the result begin
  };
  struct PairPlaces {
    std::int64_t count = 0;
    Places places{kUncounted, 0};
  };

  /// Takes the words in cells [begin, end), a range that begins and ends with a barrier. The text must outlive the
  /// shard.
  PairShard(MergeText& text, std::uint32_t begin, std::uint32_t end);

  /// Returns all pairs of neighbouring symbols, or only those with the symbol `with`, and adds their positions to the
  /// list.
  PairMap<PairPlaces> index_pairs(std::optional<std::int32_t> with);
  /// Replaces every occurrence of the step's pair, from left to right, by its result. `places` are the positions of the
  /// pair. left() and right() store the effect on other pairs until they are cleared.
  void merge(const MergeStep& step, std::span<const Places> places);
  /// Returns how often a pair of different symbols occurs, if it occurs at these places only.
  std::int64_t count(std::int32_t left, std::int32_t right, std::span<const Places> places);

  void make_room(std::size_t symbols);
  Side& left() noexcept { return left_; }
  Side& right() noexcept { return right_; }

 private:
  static constexpr std::int32_t kSwallowed = -2;
  static constexpr std::uint32_t kUncounted = 0xFFFFFFFF;

  std::uint32_t length(std::int32_t symbol) const { return text_.lengths[static_cast<std::size_t>(symbol)]; }
  std::uint32_t run_before(std::uint32_t cell, std::int32_t symbol) const;
  std::uint32_t run_from(std::uint32_t cell, std::int32_t symbol) const;
  std::int64_t weight_at(std::uint32_t cell);

  core::PageVector<std::uint32_t> number_pairs(PairMap<PairPlaces>& pairs, std::optional<std::int32_t> with);
  std::span<const std::uint32_t> in_order(std::span<const Places> places);
  template <class Body>
  void for_each_occurrence(std::int32_t left, std::int32_t right, std::span<const Places> places, Body&& body);
  void merge_pair(const MergeStep& step, std::uint32_t cell);
  void merge_run(const MergeStep& step, std::uint32_t cell);
  void lose_left(const MergeStep& step, std::uint32_t begin, std::int64_t weight);
  void lose_right(const MergeStep& step, std::uint32_t end, std::int64_t weight);
  void gain_left(const MergeStep& step, std::uint32_t begin, std::int64_t weight);
  void gain_right(const MergeStep& step, std::uint32_t end, std::int64_t weight);
  void gain_repeats(const MergeStep& step, std::uint32_t begin, std::uint32_t made, std::int64_t weight);
  void write_symbol(std::uint32_t begin, std::uint32_t middle, std::int32_t symbol);
  void file_positions(Side& side);

  MergeText& text_;
  core::PageVector<std::int32_t>& cells_;
  std::uint32_t begin_;
  std::uint32_t end_;
  std::size_t weight_ = 0;  // the index in the weights of the last look-up
  // The cell after the last result of a step, and the number of consecutive results there.
  std::uint32_t run_end_ = 0;
  std::uint32_t run_length_ = 0;
  core::PageVector<std::uint32_t> positions_;
  core::PageVector<std::uint32_t> gathered_;
  Side left_;
  Side right_;
};

}  // namespace dragoman::tokenizer
