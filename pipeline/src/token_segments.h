#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// Cuts the pieces of a text into runs of at most `limit` tokens, each run ending where possible before a piece that
/// starts at whitespace, so that no word is torn. Text within the limit is one segment; text without tokens has none.
std::vector<std::vector<std::int32_t>> token_segments(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                                      std::size_t limit);

}  // namespace dragoman::pipeline
