#pragma once

#include "pre_tokenizing/pre_tokenizer.h"

#include <string_view>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

/// Calls visit(word) for each word of a text from which merges are learned. The characters of a protected match are
/// added to the vocabulary, each as a separate word, but no merges are learned from it.
template <class Visit>
void for_each_learned_word(const PreTokenizer& pre_tokenizer, std::string_view text, Visit&& visit) {
  pre_tokenizer.for_each_pre_token(text, false, false, [&](const PreToken& token) {
    if (token.added_token >= 0) return;
    if (!token.is_protected) return visit(token.text);
    for (std::size_t i = 0; i < token.text.size();) {
      const std::size_t length = core::decode_utf8(token.text, i).length;
      visit(token.text.substr(i, length));
      i += length;
    }
  });
}

}  // namespace dragoman::tokenizer
