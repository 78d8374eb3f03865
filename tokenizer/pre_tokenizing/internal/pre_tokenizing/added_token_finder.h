#pragma once

#include "base/trie.h"

#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Finds added tokens in a text: the leftmost first, and of several that begin at one place the longest.
class AddedTokenFinder {
 public:
  /// Those that stand in raw text: all, or, with a SentencePieceText, special tokens only.
  static AddedTokenFinder in_raw_text(const BpeDefinition& definition);
  /// Those that stand in normalised text: with a SentencePieceText, the user-defined symbols.
  static AddedTokenFinder in_normal_text(const BpeDefinition& definition);

  struct Match {
    std::int32_t id = -1;  ///< -1: none, and begin = end = text.size()
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// The first match at or after `from`; special tokens count only if `with_special`.
  Match find(std::string_view text, std::size_t from, bool with_special) const noexcept;

 private:
  AddedTokenFinder(const BpeDefinition& definition, bool symbols, bool special);

  Trie symbols_;
  Trie all_;
};

}  // namespace dragoman::tokenizer
