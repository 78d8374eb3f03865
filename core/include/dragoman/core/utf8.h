#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dragoman::core {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

/// U+FEFF, as it occurs at the start of a file.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The result of decode_utf8().
struct DecodedCharacter {
  char32_t code_point;  ///< kReplacementCharacter if invalid
  std::size_t length;   ///< bytes consumed, at least 1
  bool valid;
};

/// Decodes the character that starts at `text[offset]`; offset < text.size(). An ill-formed sequence consumes its
/// maximal subpart (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts"), as in ICU, browsers and
/// Python.
///
///     const std::string_view text = "Grüße";
///     std::size_t characters = 0;
///     for (std::size_t at = 0; at < text.size(); at += decode_utf8(text, at).length) ++characters;
DecodedCharacter decode_utf8(std::string_view text, std::size_t offset) noexcept;

/// Returns the offset of the first ill-formed byte, or npos.
std::size_t find_invalid_utf8(std::string_view text) noexcept;

/// Replaces each ill-formed sequence by U+FFFD and returns the number of replacements. Valid text is not copied.
std::size_t replace_invalid_utf8(std::string& text);

/// Appends the code point as UTF-8.
void append_utf8(std::string& text, char32_t code_point);

/// Returns the length in bytes of the character that starts with the byte `first`, or 1 if no character starts with it.
constexpr std::size_t utf8_length(unsigned char first) noexcept {
  return first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
}

}  // namespace dragoman::core
