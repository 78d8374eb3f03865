#pragma once

#include "dragoman/tokenizer/tokenizer.h"

#include <cstddef>
#include <span>

namespace dragoman::tokenizer {

/// A range of bytes of a text, or of pieces by index: `begin` is included, `end` is not.
struct Range {
  std::size_t begin;
  std::size_t end;
  bool operator==(const Range&) const = default;
};

/// Returns the bytes of the original text that the pieces `range` represent, before any normalisation. `pieces` is the
/// result of Tokenizer::encode_pieces(). A piece that represents no text, such as a leading word mark, gives an empty
/// range at its position. Throws Error{kInvalidArgument} for a range outside the pieces. Thread-safe.
///
///     const std::string_view text = "Guten Morgen!";
///     const auto tokenizer = load_tokenizer("tokenizer.json");     // tokenizer_files.h
///     const std::vector<Piece> pieces = tokenizer->encode_pieces(text);
///     const Range bytes = text_of_pieces(pieces, {0, 1});
///     const std::string_view first = text.substr(bytes.begin, bytes.end - bytes.begin);
Range text_of_pieces(std::span<const Piece> pieces, Range range);

/// Returns the pieces that represent any of the bytes `text`. A piece without bytes is grouped with the next piece, or
/// with the last one at the end of the text. Examples are a leading word mark and, under NFKC, the `f` of the ligature
/// `ﬁ`, whose bytes all belong to the `i`. An empty range of bytes gives an empty range of pieces. Throws
/// Error{kInvalidArgument} for a range outside the text.
Range pieces_of_text(std::span<const Piece> pieces, Range text);

}  // namespace dragoman::tokenizer
