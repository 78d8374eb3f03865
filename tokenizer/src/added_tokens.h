#pragma once

#include "dragoman/tokenizer/bpe_definition.h"
#include "trie.h"

#include <string_view>

namespace dragoman::tokenizer {

/// Finds added tokens in raw text: the leftmost first, and of several that begin at one place the longest.
class AddedTokens {
 public:
  explicit AddedTokens(const BpeDefinition& definition);

  struct Match {
    std::int32_t id = -1;  ///< -1: none, and begin = end = text.size()
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// The first match at or after `from`; special tokens count only if `with_special`.
  Match find(std::string_view text, std::size_t from, bool with_special) const noexcept;

 private:
  Trie symbols_;
  Trie all_;
};

}  // namespace dragoman::tokenizer
