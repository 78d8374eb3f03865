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

/// Throws Error{kBadInput} if that many cells are too many for the PairStatistics, or `occurrences`, the number of
/// characters in the whole corpus, for its counts.
void check_corpus_size(std::uint64_t cells, double occurrences);

/// What the merges will see of distinct words, or lines: each normalised and cut as `definition` says.
WordCounts split_into_pre_tokens(const WordCounts& words, const BpeDefinition& definition, ThreadArena& arena);

/// The distinct words of a corpus as the encoder will see them, ready to be laid out for the PairStatistics. One thread
/// at a time; the work itself is shared by the threads of the arena, and its result does not depend on them.
class LearningCorpus {
 public:
  /// Takes the words between spaces (or whole lines) and does to them what `definition` says is done to text.
  LearningCorpus(WordCounts words, const BpeDefinition& definition, ThreadArena& arena);

  std::size_t distinct_words() const noexcept { return words_.size(); }
  /// By falling count, then by code point.
  std::vector<CharacterCount> count_characters();
  /// The number of cells of the layout; known after count_characters().
  std::uint64_t cells() const;
  /// The words as symbols: each character's id, or a barrier if it has none.
  PairStatistics::Text lay_out(const CharacterTable& ids);

 private:
  /// Consecutive words, which one task works on.
  struct Block {
    std::size_t begin;
    std::size_t end;
    std::size_t cells = 0;   ///< that the words take, a barrier after each
    double occurrences = 0;  ///< of all its cells in the corpus
    std::vector<CharacterCount> characters;
  };

  void split_at_marks(const BpeDefinition& definition);
  void count_block(Block& block) const;

  ThreadArena& arena_;
  /// Each word of the counts stands for a word mark and itself: so nearly all corpora need no second set of words.
  bool mark_is_implied_ = false;
  WordCounts counts_;
  std::vector<WordCount> words_;
  std::vector<Block> blocks_;
};

}  // namespace dragoman::tokenizer
