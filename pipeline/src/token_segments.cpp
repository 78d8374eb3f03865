#include "token_segments.h"

namespace dragoman::pipeline {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

/// A piece after which a cut tears no word: the next piece begins with a blank, or right after one.
bool starts_word(std::string_view text, const tokenizer::Piece& piece) {
  if (piece.begin >= text.size()) return false;
  return is_space(text[piece.begin]) || (piece.begin > 0 && is_space(text[piece.begin - 1]));
}

std::size_t segment_end(std::string_view text, const std::vector<tokenizer::Piece>& pieces, std::size_t begin,
                        std::size_t limit) {
  if (pieces.size() - begin <= limit) return pieces.size();
  for (std::size_t end = begin + limit; end > begin; --end)
    if (starts_word(text, pieces[end])) return end;
  return begin + limit;
}

}  // namespace

std::vector<std::vector<std::int32_t>> token_segments(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                                      std::size_t limit) {
  std::vector<std::vector<std::int32_t>> segments;
  const std::vector<tokenizer::Piece> pieces = tokenizer.encode_pieces(text);
  for (std::size_t begin = 0; begin < pieces.size();) {
    const std::size_t end = segment_end(text, pieces, begin, limit);
    std::vector<std::int32_t>& segment = segments.emplace_back();
    for (; begin < end; ++begin) segment.push_back(pieces[begin].id);
  }
  return segments;
}

}  // namespace dragoman::pipeline
