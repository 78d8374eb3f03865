#pragma once

/// Classes of characters as the library tokenizers has them, which takes them from tables of different versions of
/// Unicode. tests/tokenizer/golden/make_composed_golden.py asked it about every character.
namespace dragoman::tokenizer {

/// Unicode's category N.
bool is_number(char32_t c) noexcept;
/// Unicode's categories P of version 8, and ASCII's symbols.
bool is_punctuation(char32_t c) noexcept;
/// Letters, combining marks, decimal digits, connectors and joiners.
bool is_word_character(char32_t c) noexcept;
/// Category M of version 9.
bool is_combining_mark(char32_t c) noexcept;
/// Category Mn of version 8.
bool is_nonspacing_mark(char32_t c) noexcept;
/// U+0000, U+FFFD, and categories Cc, Cf, Co of version 8 but tab, LF and CR.
bool is_removed_by_bert(char32_t c) noexcept;
bool is_chinese(char32_t c) noexcept;
bool is_removed_by_nmt(char32_t c) noexcept;
bool is_space_to_nmt(char32_t c) noexcept;

}  // namespace dragoman::tokenizer
