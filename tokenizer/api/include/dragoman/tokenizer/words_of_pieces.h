#pragma once

#include <vector>

#include <dragoman/core/text_range.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Returns for each piece of a text the range of words [begin, end) whose bytes it represents. `words` are the words of
/// the text, ascending and disjoint. A piece without a word (a word mark) belongs to the word of the next piece or, at
/// the end of the text, to the word of the previous piece. Ranges are empty only if there are no words. Thread-safe.
std::vector<core::TextRange> words_of_pieces(const std::vector<Piece>& pieces,
                                             const std::vector<core::TextRange>& words);

}  // namespace dragoman::tokenizer
