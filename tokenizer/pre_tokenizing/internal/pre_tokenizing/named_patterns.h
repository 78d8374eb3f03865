#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Returns the end of the word that begins at `begin` < text.size(). Letters, numbers and whitespace are defined by
/// Unicode properties. Bytes that are not UTF-8 are other characters.
std::size_t pattern_word_end(WordPattern pattern, std::string_view text, std::size_t begin);
/// Returns the length of the contraction of WordPattern::kGpt2 ('s, 't, 're and so on) that begins at `begin`, or 0.
std::size_t gpt2_contraction_length(std::string_view text, std::size_t begin) noexcept;
/// Returns the offset of the first whitespace at or after `begin`, or text.size().
std::size_t white_space_begin(std::string_view text, std::size_t begin);

/// Returns the pattern as files and other programs spell it.
std::string_view regular_expression(WordPattern pattern) noexcept;
std::optional<WordPattern> pattern_of_regular_expression(std::string_view expression) noexcept;

}  // namespace dragoman::tokenizer
