#include "decoding/sentencepiece_decoder.h"

#include "decoding/bpe_streaming_decoder.h"

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::string_view kMark = kWordMark;

}  // namespace

void SentencePieceDecoder::decode(std::int32_t id, std::string& text) {
  check_id(id, static_cast<std::int32_t>(pieces_.size()));
  const DecodedPiece& piece = pieces_[static_cast<std::size_t>(id)];
  if (piece.kind == DecodedPiece::Kind::kByte) {
    bytes_ += piece.byte;
    return give_characters(true, text);
  }
  begin_piece(text);
  if (piece.kind == DecodedPiece::Kind::kPiece)
    add_piece(piece.text, text);
  else
    append(piece.text, text);
}

void SentencePieceDecoder::decode_text(std::string_view piece, std::string& text) {
  begin_piece(text);
  add_piece(piece, text);
}

void SentencePieceDecoder::finish(std::string& text) {
  give_characters(false, text);
  at_start_ = empty_ = true;
  mark_seen_ = false;
}

void SentencePieceDecoder::begin_piece(std::string& text) {
  give_characters(false, text);
  if (mark_seen_ || !empty_) at_start_ = false;
  mark_seen_ = false;
}

void SentencePieceDecoder::append(std::string_view part, std::string& text) {
  text += part;
  empty_ = empty_ && part.empty();
}

void SentencePieceDecoder::add_piece(std::string_view piece, std::string& text) {
  if (at_start_ && strips_marks_ && piece.starts_with(kMark)) {
    piece.remove_prefix(kMark.size());
    mark_seen_ = !all_marks_;
  }
  for (std::size_t mark = piece.find(kMark); mark != std::string_view::npos; mark = piece.find(kMark)) {
    append(piece.substr(0, mark), text);
    append(" ", text);
    piece.remove_prefix(mark + kMark.size());
  }
  append(piece, text);
}

/// Bytes that are not a character become U+FFFD, one by one. Bytes that may still become one are held back while `more`
/// may come.
void SentencePieceDecoder::give_characters(bool more, std::string& text) {
  std::size_t begin = 0;
  while (begin < bytes_.size()) {
    const std::string_view rest = std::string_view(bytes_).substr(begin);
    const core::DecodedCharacter character = core::decode_utf8(rest, 0);
    // An ill-formed sequence is as long as its valid prefix of a character.
    const bool open = !character.valid && character.length == rest.size() &&
                      core::utf8_length(static_cast<unsigned char>(rest[0])) > rest.size();
    if (open && more) break;
    append(character.valid ? rest.substr(0, character.length) : "\xEF\xBF\xBD", text);
    begin += character.valid ? character.length : 1;
  }
  bytes_.erase(0, begin);
}

}  // namespace dragoman::tokenizer
