#pragma once

#include "dragoman/tokenizer/word_mark.h"

#include <string_view>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

/// Calls visit(code point, whether it is valid) for each character of a word. With `marked`, visits a word mark first.
template <class Visit>
void for_each_character(std::string_view word, bool marked, Visit&& visit) {
  if (marked) visit(kWordMarkCharacter, true);
  for (std::size_t i = 0; i < word.size();) {
    const auto byte = static_cast<unsigned char>(word[i]);
    if (byte < 0x80) {
      visit(byte, true);
      ++i;
      continue;
    }
    const core::DecodedCharacter c = core::decode_utf8(word, i);
    visit(c.code_point, c.valid);
    i += c.length;
  }
}

}  // namespace dragoman::tokenizer
