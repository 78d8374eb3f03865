#pragma once

#include "dragoman/tokenizer/tokenizer.h"

#include <cstddef>
#include <span>

namespace dragoman::tokenizer {

/// Bytes of a text, or pieces by their place, from `begin` up to but not including `end`.
struct Range {
  std::size_t begin;
  std::size_t end;
  bool operator==(const Range&) const = default;
};

/// The bytes of the original text that the pieces `range` of a text stand for, whatever normalisation has made of them.
/// `pieces` are what Tokenizer::encode_pieces() gave. Pieces that stand for nothing, as the mark in front of a text,
/// give an empty range at their place. Throws Error{kInvalidArgument} for a range that is not inside the pieces.
Range text_of_pieces(std::span<const Piece> pieces, Range range);

/// The pieces that stand for any of the bytes `text`, and no others but these: pieces without bytes of their own go
/// with the piece behind them (the mark in front of the text; the `f` of `ﬁ`, whose bytes are those of the `i` under
/// NFKC), or with the last one if they end the text. An empty range of bytes gives an empty range of pieces. Throws
/// Error{kInvalidArgument} for a range that is not inside the text.
Range pieces_of_text(std::span<const Piece> pieces, Range text);

}  // namespace dragoman::tokenizer
