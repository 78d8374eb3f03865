#pragma once

#include <string>
#include <string_view>

namespace dragoman::server {

/// Returns the text as LibreTranslate reads it from a form: every line end is a line feed, and the last one is left
/// out.
std::string with_plain_line_ends(std::string_view text);

/// Returns whether the text has nothing to translate: emoji and whitespace only.
bool is_untranslatable(std::string_view text);

/// Returns the code that one of LibreTranslate stands for, in lower case: "pt-br" for "pb", "zh-hant" for "zt".
std::string from_libretranslate_code(std::string_view code);
/// Returns the code under which LibreTranslate's clients know a language: "zh-Hans" for "zh".
std::string to_libretranslate_code(const std::string& code);

}  // namespace dragoman::server
