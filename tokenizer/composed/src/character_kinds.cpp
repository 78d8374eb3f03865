#include "composed/character_kinds.h"

#include <unicode/uchar.h>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

std::uint32_t category_bit(char32_t c) {
  return U_GET_GC_MASK(static_cast<UChar32>(c));
}

bool is_known_to(char32_t c, std::uint8_t version) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] > 0 && age[0] <= version;
}

bool is_in(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

constexpr std::uint8_t kOldTables = 8;
constexpr std::uint8_t kMarkTables = 9;
/// Sharada's sandhi mark, punctuation until Unicode 11.
constexpr char32_t kSandhiMark = 0x111C9;

}  // namespace

bool is_number(char32_t c) noexcept {
  return (category_bit(c) & U_GC_N_MASK) != 0;
}

bool is_punctuation(char32_t c) noexcept {
  constexpr char32_t kCanadianChi = 0x166D;  // punctuation until Unicode 12
  if (c < 0x80) return is_in(c, '!', '/') || is_in(c, ':', '@') || is_in(c, '[', '`') || is_in(c, '{', '~');
  return ((category_bit(c) & U_GC_P_MASK) != 0 && is_known_to(c, kOldTables)) || c == kCanadianChi || c == kSandhiMark;
}

bool is_word_character(char32_t c) noexcept {
  return (category_bit(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ALPHABETIC) != 0 ||
         u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_JOIN_CONTROL) != 0;
}

bool is_combining_mark(char32_t c) noexcept {
  if (c < 0x300 || c == kSandhiMark) return false;
  const bool was_a_mark = c == 0x1CF2 || c == 0x1CF3;  // letters since Unicode 12
  return ((category_bit(c) & U_GC_M_MASK) != 0 && is_known_to(c, kMarkTables)) || was_a_mark;
}

bool is_nonspacing_mark(char32_t c) noexcept {
  constexpr char32_t kPamudpod = 0x1734;  // a spacing mark since Unicode 14
  if (c < 0x300 || c == kSandhiMark || c == 0x1885 || c == 0x1886 || c == 0xA9BD) return false;
  return ((category_bit(c) & U_GC_MN_MASK) != 0 && is_known_to(c, kOldTables)) || c == kPamudpod;
}

bool is_removed_by_bert(char32_t c) noexcept {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c < 0x7F) return c < ' ';
  constexpr std::uint32_t kControl = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK;
  return c == core::kReplacementCharacter || ((category_bit(c) & kControl) != 0 && is_known_to(c, kOldTables));
}

bool is_chinese(char32_t c) noexcept {
  return is_in(c, 0x3400, 0x4DBF) || is_in(c, 0x4E00, 0x9FFF) || is_in(c, 0xF900, 0xFAFF) ||
         is_in(c, 0x20000, 0x2A6DF) || is_in(c, 0x2A700, 0x2B81F) || is_in(c, 0x2B920, 0x2CEAF) ||
         is_in(c, 0x2F800, 0x2FA1F);
}

bool is_removed_by_nmt(char32_t c) noexcept {
  return is_in(c, 0x01, 0x08) || c == 0x0B || is_in(c, 0x0E, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

bool is_space_to_nmt(char32_t c) noexcept {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || is_in(c, 0x200B, 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

}  // namespace dragoman::tokenizer
