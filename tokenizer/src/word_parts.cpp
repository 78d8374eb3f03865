#include "word_parts.h"

#include "word_pattern.h"

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

std::size_t WordParts::end_of_part(std::string_view word, std::size_t start) const {
  bool after_lower = false;
  for (std::size_t end = start; end < word.size();) {
    const std::size_t digit = at_digits ? digit_length(word, end) : 0;
    if (digit > 0) return end > start ? end : start + digit;
    const LetterCase letter = at_case ? letter_case(word, end) : LetterCase::kNone;
    if (after_lower && letter == LetterCase::kUpper) return end;
    after_lower = letter == LetterCase::kLower;
    end += core::decode_utf8(word, end).length;
  }
  return word.size();
}

}  // namespace dragoman::tokenizer
