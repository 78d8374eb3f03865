#pragma once

#include <string_view>

namespace dragoman::tokenizer {

/// What `\s` matches in a regular expression of Python: str.isspace().
bool is_python_space(char32_t character) noexcept;
bool holds_python_space(std::string_view text) noexcept;

/// Where a line ends, apart from LF and CR, for str.splitlines() and so for a codecs.StreamReader: the character is the
/// last of its line.
bool ends_python_line(char32_t character) noexcept;

}  // namespace dragoman::tokenizer
