#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <string_view>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

inline constexpr char32_t kWordMarkCharacter = 0x2581;

/// What a definition does to a word that was cut out of a text at spaces.
enum class WordSplitting {
  kNone,     ///< nothing
  kAtMarks,  ///< a word mark is put in front, which need not be stored; words that hold a mark fall apart there
  kFull,     ///< it is normalised, or user symbols, digits and so on are cut out
};

WordSplitting word_splitting(const BpeDefinition& definition);

/// Whether words that stand between spaces are cut further: at digits, at changes of case or around protected patterns.
bool cuts_inside_words(const BpeDefinition& definition);

/// visit(code point, whether it is one) of each character of a word; with `marked`, of a word mark first.
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
