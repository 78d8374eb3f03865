#pragma once

#include "reproducing/pair_numbers.h"
#include "reproducing/symbol_names.h"
#include "reproducing/symbol_words.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// Merges words as subword-nmt 0.3.8 does. Its bookkeeping is followed literally, because its side effects choose
/// merges: counts of a pair stand in two tables, the smaller of which is consulted (see prune()), and neither is exact
/// once white space inside a word has led it astray (see join_by_text()).
class SubwordNmtLearner {
 public:
  /// The last symbol of each word already has its `</w>`. Merging adds to `names`, which must outlive this.
  SubwordNmtLearner(SymbolWords words, SymbolNames& names);

  /// Up to `merges` pairs in the order of their merging, less if no pair occurs `min_frequency` (at least 1) times. A
  /// pair may come up again. Before each merge `on_merge` gets the number of those done.
  std::vector<SymbolPair> learn(std::size_t merges, std::int64_t min_frequency,
                                core::FunctionRef<void(std::size_t)> on_merge);

 private:
  struct Pair {
    std::int64_t count = 0;   ///< what the small table says, if the pair is in it
    std::int64_t pruned = 0;  ///< what the full table says
    bool is_listed = false;   ///< is in the small table
    bool is_touched = false;  ///< by the current merge
    /// Twice the number of a word for each occurrence gained there, and 1 more for each one lost. Pairs are told by
    /// these where they occur, not by the words.
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
  SymbolWords words_;
  std::vector<bool> holds_space_;  // by word
  PairNumbers numbers_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> listed_;
  std::vector<Entry> queue_;  // a heap of what the small table said at some time
  std::vector<std::uint32_t> touched_;
  std::vector<std::int32_t> before_;  // the word that is worked on
  std::vector<std::int32_t> after_;
  std::vector<std::int32_t> balance_;  // by word: occurrences of the pair that is worked on
};

}  // namespace dragoman::tokenizer
