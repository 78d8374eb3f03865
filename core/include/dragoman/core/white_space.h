#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <dragoman/core/utf8.h>

namespace dragoman::core {

/// Returns whether the character has Unicode's property White_Space. The property's 25 characters are stable since
/// Unicode 6.3. This is the library's only list of them.
constexpr bool is_white_space(char32_t c) noexcept {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

/// Returns the length in bytes of the whitespace at the start of the text.
std::size_t leading_white_space(std::string_view text) noexcept;

/// Returns the length in bytes of the whitespace at the end of the text.
std::size_t trailing_white_space(std::string_view text) noexcept;

/// Returns the text without whitespace at its ends.
std::string_view trim_white_space(std::string_view text) noexcept;

/// Returns whether the text is empty or consists of whitespace only.
bool is_blank(std::string_view text) noexcept;

/// Replaces line feeds and carriage returns by spaces, so that the text fits on one output line.
void keep_on_one_line(std::string& text);

}  // namespace dragoman::core
