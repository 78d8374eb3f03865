#pragma once

/// Classes of characters as in the `tokenizers` library, which takes them from tables of different Unicode versions.
/// tests/tokenizer/golden/make_composed_golden.py queried the library for every character.
namespace dragoman::tokenizer {

/// Returns whether the character is in Unicode's category N.
bool is_number(char32_t c) noexcept;
/// Returns whether the character is in one of Unicode's categories P (version 8) or an ASCII symbol.
bool is_punctuation(char32_t c) noexcept;
/// Returns whether the character is a letter, combining mark, decimal digit, connector or joiner.
bool is_word_character(char32_t c) noexcept;
/// Returns whether the character is in category M (version 9).
bool is_combining_mark(char32_t c) noexcept;
/// Returns whether the character is in category Mn (version 8).
bool is_nonspacing_mark(char32_t c) noexcept;
/// Returns whether the character is U+0000, U+FFFD, or in categories Cc, Cf, Co (version 8) except tab, LF and CR.
bool is_removed_by_bert(char32_t c) noexcept;
bool is_chinese(char32_t c) noexcept;
bool is_removed_by_nmt(char32_t c) noexcept;
bool is_space_to_nmt(char32_t c) noexcept;

}  // namespace dragoman::tokenizer
