#include "regex/character_class.h"

#include <string>

#include <unicode/uchar.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

icu::UnicodeSet set_of(const char16_t* description) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeSet set(icu::UnicodeString(description), status);
  core::require(U_SUCCESS(status) != 0, core::ErrorCode::kInternal, "ICU has no character data: {}",
                u_errorName(status));
  return set;
}

icu::UnicodeSet set_of(UProperty property, std::int32_t value) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeSet set;
  set.applyIntPropertyValue(property, value, status);
  core::require(U_SUCCESS(status) != 0, core::ErrorCode::kInternal, "ICU has no character data: {}",
                u_errorName(status));
  return set;
}

// Created once, because each takes ICU as long as the rest of a pattern.

const icu::UnicodeSet& digits() {
  static const icu::UnicodeSet set = set_of(u"[:Nd:]");
  return set;
}

const icu::UnicodeSet& word_characters(bool in_brackets) {
  static const icu::UnicodeSet inside = set_of(u"[[:Alphabetic:][:M:][:Nd:][:Pc:]]");
  static const icu::UnicodeSet outside = set_of(u"[[:Alphabetic:][:M:][:Nd:][:Pc:]\u00B2\u00B3\u00B9\u00BC-\u00BE]");
  return in_brackets ? inside : outside;
}

const icu::UnicodeSet& white_space() {
  static const icu::UnicodeSet set = set_of(u"[:White_Space:]");
  return set;
}

/// Returns the long name of a value, or an empty string if the property has no such value.
std::string_view long_name(UProperty property, std::int32_t value) {
  const char* name = value < 0 ? nullptr : u_getPropertyValueName(property, value, U_LONG_PROPERTY_NAME);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

}  // namespace

std::optional<icu::UnicodeSet> class_of_escape(char letter, bool in_brackets) {
  if (letter == 'd') return digits();
  if (letter == 'w') return word_characters(in_brackets);
  if (letter == 's') return white_space();
  return std::nullopt;
}

std::optional<icu::UnicodeSet> class_of_property(std::string_view name) {
  const std::string text(name);
  const std::int32_t category = u_getPropertyValueEnum(UCHAR_GENERAL_CATEGORY_MASK, text.c_str());
  constexpr std::int32_t kKnown = U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK | U_GC_P_MASK | U_GC_S_MASK | U_GC_Z_MASK;
  if (name.size() <= 2 && category != UCHAR_INVALID_CODE && (category & ~kKnown) == 0)
    return set_of(UCHAR_GENERAL_CATEGORY_MASK, category);
  const std::int32_t script = u_getPropertyValueEnum(UCHAR_SCRIPT, text.c_str());
  if (!name.empty() && long_name(UCHAR_SCRIPT, script) == name) return set_of(UCHAR_SCRIPT, script);
  return std::nullopt;
}

std::size_t match_character(const icu::UnicodeSet& characters, std::string_view text, std::size_t at) {
  if (at >= text.size()) return 0;
  const core::DecodedCharacter c = core::decode_utf8(text, at);
  return c.valid && characters.contains(static_cast<UChar32>(c.code_point)) != 0 ? c.length : 0;
}

bool ends_with_character(const icu::UnicodeSet& characters, std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t length = 1; length <= kLongest && length <= at; ++length) {
    const bool continues = (static_cast<unsigned char>(text[at - length]) & 0xC0) == 0x80;
    if (!continues) return match_character(characters, text, at - length) == length;
  }
  return false;
}

}  // namespace dragoman::tokenizer
