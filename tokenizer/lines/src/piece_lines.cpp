#include "dragoman/tokenizer/piece_lines.h"

#include "lines/line_encoder.h"
#include "lines/words.h"

namespace dragoman::tokenizer {

PieceLines::PieceLines(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer),
      spaced_(pieces_with_spaces(tokenizer)),
      mark_(continuation_mark(tokenizer)),
      unknown_(id_of_text_without_piece(tokenizer)) {}

std::optional<std::int32_t> PieceLines::id(std::string_view word) const {
  const auto spaced = spaced_.empty() ? spaced_.end() : spaced_.find(word);
  return spaced == spaced_.end() ? tokenizer_.id(word) : std::optional(spaced->second);
}

std::vector<Piece> PieceLines::read(std::string_view line) const {
  std::vector<Piece> pieces;
  for_each_word(line, [&](std::string_view word, std::size_t begin) {
    pieces.push_back({id(word).value_or(-1), begin, begin + word.size()});
  });
  return pieces;
}

std::string PieceLines::decode(std::string_view line) const {
  if (!mark_.empty()) return join_continued(line, mark_);
  const auto decoder = tokenizer_.make_decoder();
  std::string text;
  for_each_word(line, [&](std::string_view word, std::size_t /*begin*/) {
    if (const std::optional<std::int32_t> known = id(word))
      decoder->decode(*known, text);
    else
      decoder->decode_text(word, text);
  });
  decoder->finish(text);
  return text;
}

std::string PieceLines::write(std::span<const std::int32_t> ids) const {
  std::string line;
  for (const std::int32_t id : ids) {
    if (!line.empty()) line += ' ';
    line += piece_in_lines(tokenizer_.piece(id));
  }
  return line;
}

}  // namespace dragoman::tokenizer
