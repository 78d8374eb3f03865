#pragma once

#include "pair_map.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dragoman/core/huge_pages.h>

namespace dragoman::tokenizer {

/// The words of a corpus as symbols, with exact counts of neighbouring pairs that are kept up to date while pairs are
/// merged.
///
/// Words lie one after the other in one array of cells, a barrier between them. A symbol of n characters covers n cells
/// and stands in its first and its last one, so both neighbours are found without links; cells swallowed by a merge
/// hold what no pair begins with. For each pair there is a list of the cells where it once began. Entries grow stale
/// and are checked against the cells when used. In a run of k equal symbols the pair of that symbol with itself counts
/// k / 2: what merging from the left would give.
///
/// Only counts of pairs with the newest symbol can rise, so a heap whose entries may be too high, and are put back
/// lower when they come up, always yields the true maximum.
class MergeLearner {
 public:
  static constexpr std::int32_t kBarrier = -1;
  static constexpr std::size_t kMaxCells = 0xFFFFFFFE;

  /// The words from cell `begin` on occur so often.
  struct Weight {
    std::uint32_t begin;
    std::int64_t weight;
  };
  /// Words by falling count: a barrier, then each word with a barrier behind it. Barriers inside a word part what must
  /// not be merged.
  struct Text {
    core::PageVector<std::int32_t> cells;
    std::vector<Weight> weights;
  };
  struct Pair {
    std::int32_t left;
    std::int32_t right;
    std::uint64_t count;
  };

  /// Counts all pairs of a text of at most kMaxCells. Pairs with fewer than `min_count` (at least 1) occurrences are
  /// never offered.
  MergeLearner(Text text, std::uint64_t min_count);

  /// Takes out the pair to merge next: most occurrences, then smallest left id, then smallest right id. A pair is
  /// offered once, unless merging to an id that exists makes more of it.
  std::optional<Pair> pop_best();
  /// Replaces every occurrence of (left, right), from left to right, by `result`, which may be new or one that spells
  /// the same.
  void merge(const Pair& pair, std::int32_t result);

 private:
  static constexpr std::int32_t kSwallowed = -2;
  static constexpr std::uint32_t kNoSegment = 0xFFFFFFFF;

  /// Positions [begin, end) of one step; `next` is the segment of an earlier step.
  struct Segment {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t next;
  };
  struct PairState {
    std::int64_t count = 0;
    std::uint32_t segment = kNoSegment;
  };
  struct HeapEntry {
    std::int64_t count;
    std::uint64_t key;
    bool operator<(const HeapEntry& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };
  /// What one merge does to its pairs with one neighbour.
  struct Change {
    std::int64_t lost = 0;        ///< occurrences beside the merged symbols
    std::int64_t gained = 0;      ///< occurrences beside the result
    std::uint32_t positions = 0;  ///< number of new places where the pair begins
    std::uint32_t place = 0;      ///< while they are filed: of the next one
    bool touched = false;
  };
  /// The changes on one side, by neighbour, and where pairs with the result begin.
  struct Side {
    std::vector<Change> changes;
    std::vector<std::int32_t> touched;
    std::vector<std::pair<std::int32_t, std::uint32_t>> begins;

    Change& at(std::int32_t neighbour);
    void add_begin(std::int32_t neighbour, std::uint32_t cell);
    void clear();
  };
  struct Step {
    std::int32_t left;
    std::int32_t right;
    std::int32_t result;
    std::uint32_t run_end = 0;  ///< the cell after the last result made, and the number of results in a row there
    std::uint32_t run_length = 0;
  };

  std::uint32_t length(std::int32_t symbol) const { return lengths_[static_cast<std::size_t>(symbol)]; }
  std::uint32_t run_before(std::uint32_t cell, std::int32_t symbol) const;
  std::uint32_t run_from(std::uint32_t cell, std::int32_t symbol) const;
  std::int64_t weight_at(std::uint32_t cell);
  PairState& state(std::int32_t left, std::int32_t right) { return pairs_.at(pair_key(left, right)); }

  void make_room(std::int32_t symbol);
  void build_index();
  core::PageVector<std::uint32_t> initial_numbers();
  void merge_pair(Step& step, std::uint32_t cell);
  void merge_run(Step& step, std::uint32_t cell);
  void lose_left(const Step& step, std::uint32_t begin, std::int64_t weight);
  void lose_right(const Step& step, std::uint32_t end, std::int64_t weight);
  void gain_left(const Step& step, std::uint32_t begin, std::int64_t weight);
  void gain_right(const Step& step, std::uint32_t end, std::int64_t weight);
  void gain_repeats(Step& step, std::uint32_t begin, std::uint32_t made, std::int64_t weight);
  void write_symbol(std::uint32_t begin, std::uint32_t middle, std::int32_t symbol);

  std::span<const std::uint32_t> positions_of(const PairState& pair);
  void apply_left(const Step& step);
  void apply_right(const Step& step);
  void add_positions(Side& side);
  void update(std::int32_t left, std::int32_t right, const Change& change);
  void offer(std::uint64_t key, std::int64_t count);

  std::int64_t min_count_;
  core::PageVector<std::int32_t> cells_;
  std::vector<Weight> weights_;
  std::size_t weight_ = 0;  // the place in weights_ of the last look-up
  std::vector<std::uint32_t> lengths_;
  PairMap<PairState> pairs_;
  std::vector<Segment> segments_;
  core::PageVector<std::uint32_t> positions_;
  core::PageVector<std::uint32_t> gathered_;
  std::vector<HeapEntry> heap_;
  Side left_;
  Side right_;
};

}  // namespace dragoman::tokenizer
