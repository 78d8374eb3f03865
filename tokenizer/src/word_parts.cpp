#include "word_parts.h"

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

std::size_t WordParts::end_of_part(std::string_view run, std::size_t start) const {
  bool after_lower = false;
  for (std::size_t end = start; end < run.size();) {
    const std::size_t digit = at_digits ? digit_length(run, end) : 0;
    if (digit > 0) return end > start ? end : start + digit;
    const LetterCase letter = at_case ? letter_case(run, end) : LetterCase::kNone;
    if (after_lower && letter == LetterCase::kUpper) return end;
    after_lower = letter == LetterCase::kLower;
    end += core::decode_utf8(run, end).length;
  }
  return run.size();
}

}  // namespace dragoman::tokenizer
