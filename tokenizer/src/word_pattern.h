#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace dragoman::tokenizer {

/// The end of the word that begins at `begin` < text.size(), by one of the patterns with a name; `begin`
/// itself where kWhiteSpace has none. Letters, numbers and
/// white space are what Unicode says of each character; bytes that are not UTF-8 are other characters.
std::size_t pattern_word_end(WordSplit split, std::string_view text, std::size_t begin) noexcept;

/// The bytes of the digit at `begin` < text.size(): a character of Unicode's category N; 0 if none is there.
std::size_t digit_length(std::string_view text, std::size_t begin) noexcept;

enum class LetterCase { kNone, kLower, kUpper };
/// Whether the character at `begin` < text.size() is of Unicode's category Ll or Lu.
LetterCase letter_case(std::string_view text, std::size_t begin) noexcept;

/// Between a lower-case letter and an upper-case one.
inline constexpr std::string_view kCasePattern = R"((?<=\p{Ll})(?=\p{Lu}))";

/// The end of the run that begins at `begin` < text.size(): letters or numbers and the combining marks behind them, or
/// other characters; a word mark goes with what follows.
std::size_t character_run_end(std::string_view text, std::size_t begin) noexcept;
/// What character_run_end() takes, one match after the other.
inline constexpr std::string_view kPunctuationPattern =
    R"(\u2581?\p{L}[\p{L}\p{M}]*|\u2581?\p{N}[\p{N}\p{M}]*|[^\p{L}\p{N}]+)";

/// The pattern as a regular expression, as files and other programs spell it; empty for kBefore, kBetween and
/// kWhiteSpace.
std::string_view regular_expression(WordSplit split) noexcept;
std::optional<WordSplit> split_of_regular_expression(std::string_view expression) noexcept;

}  // namespace dragoman::tokenizer
