#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <dragoman/core/text_range.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// A stretch of a text and its tokens.
struct TokenSegment {
  std::vector<std::int32_t> ids{};
  core::TextRange text{};                 ///< the bytes of the text that the segment covers
  std::vector<core::TextRange> places{};  ///< the bytes of the text that each token covers, if requested
};

/// Cuts the pieces of a text into runs of at most `limit` tokens. If possible, a run ends before a piece that starts at
/// whitespace, so that no word is split. A text within the limit is one segment; a text without tokens has none. The
/// segments' texts are consecutive and cover the text.
std::vector<TokenSegment> token_segments(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                         std::size_t limit, bool with_places = false);

/// Cuts the pieces of a line of `size` bytes in the same way: the segments of a text's pieces equal the segments of the
/// text. `text` of a segment is the bytes of the line.
std::vector<TokenSegment> piece_segments(const tokenizer::Tokenizer& tokenizer,
                                         const std::vector<tokenizer::Piece>& pieces, std::size_t size,
                                         std::size_t limit);

}  // namespace dragoman::pipeline
