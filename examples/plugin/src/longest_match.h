#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace example {

/// Cuts a text into the longest pieces of a list, from left to right (maximum matching, as WordPiece does inside
/// words).
///
/// The list is text in UTF-8, a piece a line, and the number of the line, from 0, is the piece's id. The first piece
/// stands for characters that are in no other. Those written as <...> are special. Option `space` ("▁"): how the list
/// writes a space; the text itself cannot hold that.
std::unique_ptr<dragoman::tokenizer::Tokenizer> make_longest_match(const dragoman::tokenizer::TokenizerFile& file,
                                                                   dragoman::core::OptionReader& options);

/// For the conformance kit.
dragoman::tokenizer::TokenizerExample longest_match_example();

}  // namespace example
