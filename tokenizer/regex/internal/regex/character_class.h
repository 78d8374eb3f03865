#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <unicode/uniset.h>

namespace dragoman::tokenizer {

/// The characters that \d, \w and \s match in Oniguruma, by their lower-case letter. Returns nothing for other letters.
/// In brackets Oniguruma's \w leaves out the numbers of Latin-1 that it matches elsewhere.
std::optional<icu::UnicodeSet> class_of_escape(char letter, bool in_brackets);
/// What \p{name} stands for: a general category other than C, or a script by its long name; nothing if it is neither.
std::optional<icu::UnicodeSet> class_of_property(std::string_view name);

/// The length of the character of `characters` that begins at `at`, or 0: at the end of the text, too, and for bytes
/// that are not UTF-8, which are in no class.
std::size_t match_character(const icu::UnicodeSet& characters, std::string_view text, std::size_t at);
/// Whether a character of `characters` ends at `at`.
bool ends_with_character(const icu::UnicodeSet& characters, std::string_view text, std::size_t at);

}  // namespace dragoman::tokenizer
