#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The end of the word that begins at `begin` < text.size(), by one of the patterns with a name; `begin` itself where
/// kWhiteSpace has none. Letters, numbers and white space are what Unicode says of each character; bytes that are not
/// UTF-8 are other characters.
std::size_t pattern_word_end(WordSplit split, std::string_view text, std::size_t begin) noexcept;

/// The pattern as a regular expression, as files and other programs spell it; empty for kBefore, kBetween and
/// kWhiteSpace.
std::string_view regular_expression(WordSplit split) noexcept;
std::optional<WordSplit> split_of_regular_expression(std::string_view expression) noexcept;

}  // namespace dragoman::tokenizer
