#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::evaluation {

/// Returns whether Python's str.split() treats the character as whitespace: it has the property White_Space or is one
/// of the separators U+001C to U+001F.
bool is_space(char32_t c) noexcept;

/// Returns the text without trailing whitespace.
std::string_view trim_right(std::string_view text) noexcept;
/// Returns the text without leading whitespace.
std::string_view trim_left(std::string_view text) noexcept;

/// Returns the words between runs of whitespace. They point into `text`.
std::vector<std::string_view> split(std::string_view text);

std::u32string decode(std::string_view text);
std::string encode(std::u32string_view text);

/// Returns the text in lower case, by full Unicode mappings that do not depend on the locale. These include the final
/// sigma and mappings to several characters.
std::string lower_case(std::string_view text);

}  // namespace dragoman::evaluation
