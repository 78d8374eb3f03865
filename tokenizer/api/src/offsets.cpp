#include "dragoman/tokenizer/offsets.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

void check_inside(Range range, std::size_t size, const char* of) {
  core::require(range.begin <= range.end && range.end <= size, core::ErrorCode::kInvalidArgument,
                "the range from {} to {} is not inside the {} {}", range.begin, range.end, size, of);
}

}  // namespace

Range text_of_pieces(std::span<const Piece> pieces, Range range) {
  check_inside(range, pieces.size(), "pieces");
  if (range.begin < range.end) return {pieces[range.begin].begin, pieces[range.end - 1].end};
  const std::size_t at = range.begin < pieces.size() ? pieces[range.begin].begin
                         : pieces.empty()            ? 0
                                                     : pieces.back().end;
  return {at, at};
}

Range pieces_of_text(std::span<const Piece> pieces, Range text) {
  const std::size_t size = pieces.empty() ? 0 : pieces.back().end;
  check_inside(text, size, "bytes of the text");
  const auto first = std::ranges::partition_point(pieces, [&](const Piece& piece) { return piece.end <= text.begin; });
  auto begin = static_cast<std::size_t>(first - pieces.begin());
  if (text.begin == text.end) return {begin, begin};
  while (begin > 0 && pieces[begin - 1].begin == pieces[begin - 1].end && pieces[begin - 1].end == pieces[begin].begin)
    --begin;
  const auto last = std::ranges::partition_point(pieces, [&](const Piece& piece) { return piece.begin < text.end; });
  // Pieces without bytes at the end of the range belong to the next piece, unless there is none.
  const std::size_t end = text.end == size ? pieces.size() : static_cast<std::size_t>(last - pieces.begin());
  return {begin, end};
}

}  // namespace dragoman::tokenizer
