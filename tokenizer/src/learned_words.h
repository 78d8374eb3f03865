#pragma once

#include "text_splitter.h"

#include <string_view>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

/// visit(word) of each word of a text that merges are learned from. A protected match has its characters in the
/// vocabulary, each a word by itself, but no merges.
template <class Visit>
void for_each_learned_word(const TextSplitter& splitter, std::string_view text, Visit&& visit) {
  splitter.for_each_unit(text, false, false, [&](const TextUnit& unit) {
    if (unit.added_token >= 0) return;
    if (!unit.is_protected) return visit(unit.text);
    for (std::size_t i = 0; i < unit.text.size();) {
      const std::size_t length = core::decode_utf8(unit.text, i).length;
      visit(unit.text.substr(i, length));
      i += length;
    }
  });
}

}  // namespace dragoman::tokenizer
