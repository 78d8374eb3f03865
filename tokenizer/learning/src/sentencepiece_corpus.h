#pragma once

#include "base/character_table.h"
#include "dragoman/tokenizer/learn_unigram.h"
#include "learning/symbol_words.h"
#include "reading/collect_words.h"
#include "reading/thread_arena.h"

#include <atomic>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>

namespace dragoman::tokenizer {

/// Throws Error{kInvalidArgument} for options that contradict each other or are out of range.
void check_unigram_options(const std::vector<std::filesystem::path>& files, const LearnUnigramOptions& options);

/// The maximum of max_piece_length, in characters.
inline constexpr int kLongestPiece = 256;

/// Returns the options with the character map of the name, and with user-defined symbols as they occur in normalised
/// text.
LearnUnigramOptions complete_options(LearnUnigramOptions options);

/// Returns the words or lines that learning reads. Throws Error{kInvalidArgument} if `kind` is kCounts and learning
/// must read whole lines.
WordSource word_source(const std::vector<std::filesystem::path>& files, WordSource::Kind kind,
                       const LearnUnigramOptions& options, const core::LogSink& log);

/// Returns the pieces that do not depend on the corpus, in the order of their ids: special tokens, user-defined symbols
/// and bytes.
std::vector<UnigramPiece> given_pieces(const LearnUnigramOptions& options);

/// A corpus as words of symbols, by the rules of spm_train. One thread at a time; the threads of the arena share the
/// work.
class SentencePieceCorpus {
 public:
  /// `reserved` are the texts of the given pieces. All arguments must outlive the object.
  SentencePieceCorpus(const WordSource& source, const LearnUnigramOptions& options,
                      const std::vector<std::string>& reserved, const MemoryPlan& plan, ThreadArena& arena,
                      const core::ProgressSink& progress, const std::stop_token& stop);

  /// Reads the corpus. Throws Error{kBadInput} for a corpus without words, and Error{kInvalidArgument} if the
  /// characters alone exceed the size of the vocabulary.
  UnigramWords read();
  /// Returns the characters that become pieces, by falling count; the position from 1 is the character's symbol. Valid
  /// after read().
  const std::vector<char32_t>& alphabet() const noexcept { return alphabet_; }
  /// Returns the symbols of the alphabet.
  const CharacterTable& symbols() const noexcept { return symbols_; }

 private:
  WordCounts normalised_words();
  void add_characters(std::uint64_t bytes, std::uint64_t count);
  void choose_characters(const std::vector<WordCount>& words);
  UnigramWords lay_out(const std::vector<WordCount>& words) const;

  const WordSource& source_;
  const LearnUnigramOptions& options_;
  const std::vector<std::string>& reserved_;
  const MemoryPlan& plan_;
  ThreadArena& arena_;
  const core::ProgressSink& progress_;
  const std::stop_token& stop_;
  std::vector<char32_t> alphabet_;
  CharacterTable symbols_;
  std::atomic<std::uint64_t> characters_ = 0;
};

}  // namespace dragoman::tokenizer
