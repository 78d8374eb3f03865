#pragma once

#include "learning/codes_symbols.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// Merges words like subword-nmt 0.3.8. The bookkeeping of that program is followed literally, because its side effects
/// choose merges. Counts of a pair are in two tables, and the smaller one is consulted (see prune()). Neither table is
/// exact after whitespace inside a word has misled it (see join_by_text()).
class CodesLearner {
 public:
  /// The last symbol of each word already has its `</w>`. Merging adds to `names`, which must outlive the object.
  CodesLearner(CodesWords words, SymbolNames& names);

  /// Returns up to `merges` pairs in the order of their merging, fewer if no pair occurs `min_frequency` (at least 1)
  /// times. A pair may occur again. Calls on_merge(number of merges so far) before each merge.
  std::vector<SymbolPair> learn(std::size_t merges, std::int64_t min_frequency,
                                core::FunctionRef<void(std::size_t)> on_merge);

 private:
  struct Pair {
    std::int64_t count = 0;   ///< in the small table, if the pair is in it
    std::int64_t pruned = 0;  ///< in the full table
    bool is_listed = false;   ///< whether the pair is in the small table
    bool is_touched = false;  ///< by the current merge
    /// Twice the number of a word for each occurrence gained there, and 1 more for each one lost.
    std::vector<std::uint32_t> places;
  };
  struct Entry {
    std::int64_t count;
    std::uint32_t pair;
  };

  void count_pairs();
  bool comes_later(const Entry& a, const Entry& b) const;
  void offer(std::uint32_t pair);
  void rebuild_queue();
  std::optional<std::uint32_t> pop_best();
  void prune(double threshold);
  void restore(double& threshold, std::size_t step);
  void merge(std::uint32_t pair);
  std::vector<std::uint32_t> take_words_with(std::uint32_t pair);
  void merge_in_word(SymbolPair pair, std::int32_t joined, std::uint32_t word);
  void join_by_symbols(SymbolPair pair, std::int32_t joined);
  void join_by_text(SymbolPair pair);
  void lose_neighbours(SymbolPair pair, std::uint32_t word);
  void gain_neighbours(std::int32_t joined, std::uint32_t word);
  void change(std::int32_t left, std::int32_t right, std::uint32_t word, bool is_gain);

  SymbolNames& names_;
  CodesWords words_;
  std::vector<bool> has_space_;  // by word
  PairNumbers numbers_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> listed_;
  std::vector<Entry> queue_;  // a heap of past and present counts in the small table
  std::vector<std::uint32_t> touched_;
  std::vector<std::int32_t> before_;  // the current word
  std::vector<std::int32_t> after_;
  std::vector<std::int32_t> balance_;  // by word: occurrences of the current pair
};

}  // namespace dragoman::tokenizer
