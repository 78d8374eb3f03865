#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::evaluation {

/// White space as Python's str.split() sees it: the property White_Space and the separators U+001C to U+001F.
bool is_space(char32_t c) noexcept;

/// The text without white space at its end.
std::string_view trim_right(std::string_view text) noexcept;
/// The text without white space at its beginning.
std::string_view trim_left(std::string_view text) noexcept;

/// The pieces between runs of white space; they point into `text`.
std::vector<std::string_view> split(std::string_view text);

std::u32string decode(std::string_view text);
std::string encode(std::u32string_view text);

/// Full lower-casing, independent of the locale, including the final sigma and mappings to several characters.
std::string lower_case(std::string_view text);

}  // namespace dragoman::evaluation
