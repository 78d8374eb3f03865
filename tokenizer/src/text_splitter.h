#pragma once

#include "added_tokens.h"
#include "normalizer.h"
#include "sentencepiece_normalizer.h"

#include <optional>
#include <span>
#include <string_view>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// One word of a stretch of text between added tokens, after normalisation, or an added token.
struct TextUnit {
  std::int32_t added_token = -1;  ///< its id, or -1 for a word
  std::string_view text;          ///< the word after normalisation; valid during the call only
  std::span<const std::size_t>
      origin;             ///< for each byte of the word, and its end, the offset in the text; empty if not tracked
  std::size_t begin = 0;  ///< an added token's range in the text
  std::size_t end = 0;
};

/// Cuts text into what the merges see: added tokens out, the rest normalised, words apart. Learner and encoders share
/// it, so that a vocabulary is learned on the same words that it will be used on.
class TextSplitter {
 public:
  explicit TextSplitter(const BpeDefinition& definition);

  void for_each_unit(std::string_view text, bool match_special, bool track,
                     core::FunctionRef<void(const TextUnit&)> visit) const;

 private:
  void visit_stretch(std::string_view text, std::size_t begin, bool track,
                     core::FunctionRef<void(const TextUnit&)> visit) const;
  void visit_words_and_symbols(const AlignedText& normal, core::FunctionRef<void(const TextUnit&)> visit) const;
  void visit_words(const AlignedText& normal, std::size_t start, std::size_t end,
                   core::FunctionRef<void(const TextUnit&)> visit) const;
  std::size_t word_end(std::string_view text, std::size_t start) const;
  static std::size_t end_of_part(std::string_view word, std::size_t start);
  std::size_t after_word(std::string_view text, std::size_t end) const;

  AddedTokens added_;
  Normalizer normalizer_;
  std::optional<PrependScheme> metaspace_;
  std::optional<SentencePieceNormalizer> sentencepiece_;  // in place of normalizer_
  AddedTokens symbols_;                                   // in its result
  WordSplit split_;
  std::string split_pattern_;
  bool split_digits_;
  bool add_prefix_space_;
};

}  // namespace dragoman::tokenizer
