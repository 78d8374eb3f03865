#pragma once

#include "normalizing/normalizer.h"
#include "normalizing/sentencepiece_normalizer.h"
#include "pre_tokenizing/added_token_finder.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/word_cutter.h"
#include "regex/pattern.h"

#include <optional>
#include <span>
#include <string_view>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// One word of a stretch of text between added tokens, after normalisation, or an added token.
struct PreToken {
  std::int32_t added_token = -1;  ///< its id, or -1 for a word
  std::string_view text;          ///< the word after normalisation; valid only during the call
  /// For each byte of the word, and its end, the offset in the text. Empty if not tracked.
  std::span<const std::size_t> origin;
  std::size_t begin = 0;  ///< the range of an added token in the text
  std::size_t end = 0;
  bool is_protected = false;  ///< a word of a match of the protected pattern, from which nothing is learned
};

/// Splits text into the units that merges are applied to: extracts added tokens, normalises the rest, and separates
/// words. Learner and encoders share it, so that a vocabulary is learned from the same words that it encodes.
class PreTokenizer {
 public:
  explicit PreTokenizer(const BpeDefinition& definition);

  void for_each_pre_token(std::string_view text, bool match_special, bool track,
                          core::FunctionRef<void(const PreToken&)> visit) const;

  /// Returns whether splitting the text at spaces first, and then each word with a leading mark, gives the same
  /// pre-tokens.
  bool words_stand_alone() const;

 private:
  struct Stretch {
    std::string_view whole;  ///< the normalised text
    std::span<const std::size_t> origin;
    std::size_t begin;  ///< the part of it that is split into words
    std::size_t end;
    bool is_protected;
  };

  void visit_text(std::string_view text, std::size_t begin, bool track,
                  core::FunctionRef<void(const PreToken&)> visit) const;
  void visit_between_symbols(const AlignedText& normal, core::FunctionRef<void(const PreToken&)> visit) const;
  void visit_between_protected(const AlignedText& normal, core::FunctionRef<void(const PreToken&)> visit) const;
  void visit_words(const Stretch& stretch, core::FunctionRef<void(const PreToken&)> visit) const;
  void visit_word(const Stretch& word, core::FunctionRef<void(const PreToken&)> visit) const;

  AddedTokenFinder added_;
  Normalizer normalizer_;
  std::optional<PrependScheme> metaspace_;
  std::optional<SentencePieceNormalizer> sentencepiece_;  // instead of normalizer_
  AddedTokenFinder symbols_;                              // applied to its result
  WordCutter words_;
  InnerSplits inner_splits_;
  std::optional<Pattern> protected_;
  bool add_prefix_space_;
};

}  // namespace dragoman::tokenizer
