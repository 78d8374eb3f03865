#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <unicode/uniset.h>

namespace dragoman::tokenizer {

/// Returns the characters that \d, \w and \s match in Oniguruma, given the lower-case letter, or nullopt for other
/// letters. In brackets, Oniguruma's \w excludes the numbers of Latin-1, which it matches elsewhere.
std::optional<icu::UnicodeSet> class_of_escape(char letter, bool in_brackets);
/// Returns the characters of \p{name}: a general category except C, or a script by its long name; nullopt if it is
/// neither.
std::optional<icu::UnicodeSet> class_of_property(std::string_view name);

/// Returns the length of the character of `characters` that begins at `at`. Returns 0 if there is none, at the end of
/// the text, and for bytes that are not UTF-8, which are in no class.
std::size_t match_character(const icu::UnicodeSet& characters, std::string_view text, std::size_t at);
/// Returns whether a character of `characters` ends at `at`.
bool ends_with_character(const icu::UnicodeSet& characters, std::string_view text, std::size_t at);

}  // namespace dragoman::tokenizer
