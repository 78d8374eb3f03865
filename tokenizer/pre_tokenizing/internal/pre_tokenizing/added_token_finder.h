#pragma once

#include "base/trie.h"

#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Finds added tokens in a text: the leftmost first, and the longest of those that begin at one position.
class AddedTokenFinder {
 public:
  /// Returns a finder for raw text: for all tokens or, with a SentencePieceText, for special tokens only.
  static AddedTokenFinder in_raw_text(const BpeDefinition& definition);
  /// Returns a finder for normalised text: with a SentencePieceText, for the user-defined symbols.
  static AddedTokenFinder in_normal_text(const BpeDefinition& definition);

  struct Match {
    std::int32_t id = -1;  ///< -1: none, and begin = end = text.size()
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// Returns the first match at or after `from`. Special tokens match only if `with_special` is set.
  Match find(std::string_view text, std::size_t from, bool with_special) const;

 private:
  AddedTokenFinder(const BpeDefinition& definition, bool symbols, bool special);

  Trie symbols_;
  Trie all_;
};

}  // namespace dragoman::tokenizer
