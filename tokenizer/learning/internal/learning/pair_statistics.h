#pragma once

#include "base/pair_map.h"
#include "learning/pair_shard.h"
#include "reading/thread_arena.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <dragoman/core/huge_pages.h>

namespace dragoman::tokenizer {

/// The words of a corpus as symbols, with exact counts of neighbouring pairs that are updated while pairs are merged.
///
/// Words are stored one after the other in one array of cells, separated by barriers, and divided into shards. The
/// shards find and replace the occurrences of a pair, on several threads if there are many. One thread keeps the counts
/// of all pairs here, so nothing depends on the number of shards.
///
/// Only the counts of pairs with the result of the latest merge can rise. A heap whose entries may be too high, and are
/// reinserted with a lower count when they reach the top, therefore always yields the true maximum. For the same reason
/// a pair that starts with too few occurrences need not be stored, which is the case for most pairs of a large corpus.
/// One that starts below the count that the last merge is expected to have is set aside with its first count and its
/// places. Its occurrences are counted again if merges get that far.
/// Pairs with a result are recounted only if a second merge has the same result, which no learned vocabulary has been
/// observed to do.
class PairStatistics {
 public:
  static constexpr std::int32_t kBarrier = kBarrierCell;

  using Weight = WordWeight;
  /// Words by falling count: a barrier, then each word followed by a barrier. Barriers inside a word separate symbols
  /// that must not be merged.
  struct Text {
    core::PageVector<std::int32_t> cells;
    std::vector<Weight> weights;
  };
  struct Pair {
    std::int32_t left;
    std::int32_t right;
    std::uint64_t count;
  };
  /// The division of the work. The result does not depend on it.
  struct Division {
    std::size_t shards = 1;
    std::size_t worth_sharing = 2048;  ///< steps with fewer positions stay on the calling thread
    std::size_t merges = 0;            ///< expected in all; 0: unknown, and no pair is set aside
  };
  /// Returns as many shards as threads, or fewer if the text is too small.
  static Division divide(const Text& text, const ThreadArena& arena, std::size_t merges);

  /// Returns whether `a` precedes `b`, which has the same count. A strict order.
  using Precedes = std::function<bool(const Pair& a, const Pair& b)>;

  /// Counts all pairs of a text of at most kMaxCells. Pairs with fewer than `min_count` (at least 1) occurrences are
  /// never returned. The arena must outlive the object. Without `precedes`, the pair with the smaller left id, then the
  /// smaller right id, precedes.
  PairStatistics(Text text, std::uint64_t min_count, ThreadArena& arena, const Division& division,
                 Precedes precedes = {});
  PairStatistics(const PairStatistics&) = delete;
  PairStatistics& operator=(const PairStatistics&) = delete;

  /// Removes and returns the pair to merge next: the most occurrences, then the first by `precedes`. A pair is returned
  /// once, unless a merge with an existing result produces more of it.
  std::optional<Pair> pop_best();
  /// Replaces every occurrence of (left, right), from left to right, by `result`, which may be new or have the same
  /// spelling.
  void merge(const Pair& pair, std::int32_t result);

 private:
  static constexpr std::uint32_t kNoSegment = 0xFFFFFFFF;

  /// The positions of one step in one shard. `next` is another segment of the same pair.
  struct Segment {
    PairShard::Places places;
    std::uint32_t shard;
    std::uint32_t next;
  };
  struct PairState {
    std::int64_t count = 0;
    std::uint32_t segment = kNoSegment;
    bool exact = true;  ///< otherwise the pair was set aside, and `count` may be too high
  };
  /// A pair that has at most `count` occurrences.
  struct PairAside {
    std::int64_t count;
    std::uint64_t key;
    std::uint32_t segment;
  };
  struct HeapEntry {
    std::int64_t count;
    std::uint64_t key;
  };

  PairState& state(std::int32_t left, std::int32_t right) { return pairs_.at(pair_key(left, right)); }
  void make_room(std::int32_t symbol);
  void add_shards(std::size_t count);
  void record_pairs(std::optional<std::int32_t> with, std::int64_t least);
  template <class Body>
  void for_each_shard(bool in_parallel, Body&& body);
  std::size_t collect_places(const PairState& pair);
  std::uint32_t add_segment(const PairShard::Places& places, std::size_t shard, std::uint32_t next);
  void apply(const MergeStep& step);
  template <class SideOf>
  void sum_up(SideOf&& side_of);
  template <class SideOf, class KeyOf>
  void add_gained(const MergeStep& step, SideOf&& side_of, KeyOf&& key_of);
  template <class SideOf, class KeyOf>
  void take_lost(SideOf&& side_of, KeyOf&& key_of);
  void raise_floor(std::int64_t count);
  void lower_floor();
  void count_again(PairState& pair, std::uint64_t key);
  void offer(std::uint64_t key, std::int64_t count);
  /// The order of the heap: `a` comes out after `b`.
  bool comes_later(const HeapEntry& a, const HeapEntry& b) const;

  std::int64_t min_count_;
  ThreadArena& arena_;
  std::size_t worth_sharing_;
  std::size_t merges_;
  std::size_t merged_ = 0;
  MergeText text_;
  std::vector<PairShard> shards_;
  std::vector<std::vector<PairShard::Places>> places_;  // by shard, of the pair that is merged
  PairMap<PairState> pairs_;
  core::PageVector<Segment> segments_;
  std::vector<HeapEntry> heap_;
  core::PageVector<PairAside> aside_;
  Precedes precedes_;
  std::int64_t floor_;  // every pair that is aside has a count below it
};

}  // namespace dragoman::tokenizer
