#include "pre_tokenizing/inner_splits.h"

#include <unicode/uchar.h>

#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

enum class RunKind { kLetter, kNumber, kCombining, kOther };

struct RunCharacter {
  RunKind kind;
  std::size_t length;
};

RunCharacter run_character_at(std::string_view text, std::size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  if (byte < 0x80) {
    const auto letter = static_cast<unsigned char>(byte | 0x20);
    if (letter >= 'a' && letter <= 'z') return {RunKind::kLetter, 1};
    return {byte >= '0' && byte <= '9' ? RunKind::kNumber : RunKind::kOther, 1};
  }
  const core::DecodedCharacter c = core::decode_utf8(text, i);
  if (!c.valid) return {RunKind::kOther, c.length};
  const auto mask = U_GET_GC_MASK(static_cast<UChar32>(c.code_point));
  const RunKind kind = (mask & U_GC_L_MASK) != 0   ? RunKind::kLetter
                       : (mask & U_GC_N_MASK) != 0 ? RunKind::kNumber
                       : (mask & U_GC_M_MASK) != 0 ? RunKind::kCombining
                                                   : RunKind::kOther;
  return {kind, c.length};
}

/// Returns the bytes of the digit at `begin` < text.size(), a character of Unicode's category N, or 0 if there is none.
std::size_t digit_length(std::string_view text, std::size_t begin) {
  const auto byte = static_cast<unsigned char>(text[begin]);
  if (byte < 0x80) return byte >= '0' && byte <= '9' ? 1 : 0;
  const core::DecodedCharacter c = core::decode_utf8(text, begin);
  return c.valid && (U_GET_GC_MASK(static_cast<UChar32>(c.code_point)) & U_GC_N_MASK) != 0 ? c.length : 0;
}

enum class LetterCase { kNone, kLower, kUpper };
/// Returns whether the character at `begin` < text.size() is of Unicode's category Ll or Lu.
LetterCase letter_case(std::string_view text, std::size_t begin) {
  const core::DecodedCharacter c = core::decode_utf8(text, begin);
  if (!c.valid) return LetterCase::kNone;
  const auto category = u_charType(static_cast<UChar32>(c.code_point));
  if (category == U_LOWERCASE_LETTER) return LetterCase::kLower;
  return category == U_UPPERCASE_LETTER ? LetterCase::kUpper : LetterCase::kNone;
}

}  // namespace

std::size_t character_run_end(std::string_view text, std::size_t begin) {
  constexpr std::string_view kMark = kWordMark;
  const std::size_t mark = text.substr(begin).starts_with(kMark) ? kMark.size() : 0;
  std::size_t end = begin + mark;
  if (end == text.size()) return end;
  const RunCharacter first = run_character_at(text, end);
  const RunKind kind = first.kind == RunKind::kCombining ? RunKind::kOther : first.kind;
  end += first.length;
  core::StopCheck check("encoding a text");
  while (end < text.size()) {
    check();
    const RunCharacter next = run_character_at(text, end);
    if (next.kind != kind && next.kind != RunKind::kCombining) break;
    end += next.length;
  }
  return end;
}

std::size_t InnerSplits::end_of_part(std::string_view run, std::size_t start) const {
  bool after_lower = false;
  core::StopCheck check("encoding a text");
  for (std::size_t end = start; end < run.size();) {
    check();
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
