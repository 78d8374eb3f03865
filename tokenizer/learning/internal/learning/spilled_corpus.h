#pragma once

#include "base/character_table.h"
#include "learning/pair_statistics.h"
#include "reading/character_counts.h"
#include "reading/memory_plan.h"
#include "reading/word_runs.h"

#include <cstdint>
#include <stop_token>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A LearningCorpus whose words are on disk. They are read as often as they are needed, and only their layout is in
/// memory. One thread at a time.
class SpilledCorpus {
 public:
  /// Drops words that occur less than `min_count` times, and processes the others like text, as `definition` specifies.
  /// Words that this changes are counted again within the plan.
  SpilledCorpus(WordRuns& words, std::uint64_t min_count, const BpeDefinition& definition, const MemoryPlan& plan,
                const core::ProgressSink& progress, const std::stop_token& stop);

  std::uint64_t distinct_words() const noexcept { return words_.words; }
  /// Return the dropped words, and all words, before they were split.
  const WordTotal& dropped() const noexcept { return dropped_; }
  const WordTotal& total() const noexcept { return total_; }
  /// Sorted by falling count, then by code point.
  std::vector<CharacterCount> count_characters();
  /// Returns the number of cells of the layout. Call count_characters() first.
  std::uint64_t cells() const;
  /// Returns the smallest `min_count` for which the layout has at most `most_cells` cells, or 0 if there is none below
  /// 4096. Call count_characters() first.
  std::uint64_t min_count_for(std::uint64_t most_cells) const;
  /// Returns the words as symbols: the id of each character, or a barrier if it has none.
  PairStatistics::Text lay_out(const CharacterTable& ids);

 private:
  static constexpr std::uint64_t kSmall = 1 << 12;
  /// A word that occurs at least kSmall times.
  struct FrequentWord {
    std::uint64_t count;
    std::uint64_t cells;
  };

  template <class Visit>
  void for_each_word(Visit&& visit) const;
  void note_word(std::uint64_t count, std::uint64_t cells);
  std::vector<std::size_t> place_frequent_words(PairStatistics::Text& text) const;
  std::vector<std::size_t> place_rare_words(PairStatistics::Text& text, std::size_t cell) const;

  const core::ProgressSink& progress_;
  const std::stop_token& stop_;
  bool mark_is_implied_;
  WordTotal dropped_;
  WordTotal total_;
  WordRun words_;
  std::vector<std::uint64_t> cells_by_count_;  ///< of the words that occur less than kSmall times
  std::vector<FrequentWord> frequent_;         ///< in the order of words_
};

}  // namespace dragoman::tokenizer
