#pragma once

#include "base/character_table.h"
#include "learning/pair_statistics.h"
#include "reading/character_counts.h"
#include "reading/thread_arena.h"
#include "reading/word_table.h"

#include <cstdint>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Throws Error{kBadInput} if the number of cells is too large for PairStatistics, or if `occurrences`, the number of
/// characters in the whole corpus, is too large for its counts.
void check_corpus_size(std::uint64_t cells, double occurrences);

/// Returns the pre-tokens of distinct words (or lines), to which merges are applied: each is normalised and split as
/// `definition` specifies.
WordCounts split_into_pre_tokens(const WordCounts& words, const BpeDefinition& definition, ThreadArena& arena);

/// The distinct words of a corpus in the form that the encoder will see, ready for the layout of PairStatistics. One
/// thread at a time. The threads of the arena share the work, and the result does not depend on them.
class LearningCorpus {
 public:
  /// Takes the words between spaces (or whole lines) and processes them like text, as `definition` specifies.
  LearningCorpus(WordCounts words, const BpeDefinition& definition, ThreadArena& arena);

  std::size_t distinct_words() const noexcept { return words_.size(); }
  /// Sorted by falling count, then by code point.
  std::vector<CharacterCount> count_characters();
  /// Returns the number of cells of the layout. Call count_characters() first.
  std::uint64_t cells() const;
  /// Returns the words as symbols: the id of each character, or a barrier if it has none.
  PairStatistics::Text lay_out(const CharacterTable& ids);

 private:
  /// Consecutive words that one task processes.
  struct Block {
    std::size_t begin;
    std::size_t end;
    std::size_t cells = 0;   ///< for the words, each followed by a barrier
    double occurrences = 0;  ///< of all its cells in the corpus
    std::vector<CharacterCount> characters;
  };

  void split_at_marks(const BpeDefinition& definition);
  void count_block(Block& block) const;

  ThreadArena& arena_;
  /// Each word of the counts represents a word mark and the word. Nearly all corpora thus need no second set of words.
  bool mark_is_implied_ = false;
  WordCounts counts_;
  std::vector<WordCount> words_;
  std::vector<Block> blocks_;
};

}  // namespace dragoman::tokenizer
