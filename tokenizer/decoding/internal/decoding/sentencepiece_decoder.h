#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// What a piece is to the decoder.
struct DecodedPiece {
  enum class Kind {
    kPiece,    ///< its marks are spaces
    kSurface,  ///< stands for `text`, which may be empty
    kByte,
  };
  Kind kind = Kind::kPiece;
  std::string_view text = {};
  char byte = 0;
};

/// Joins pieces to text as the SentencePiece library does. Nothing that follows changes what has been appended, but for
/// bytes, which wait until they are a character or cannot become one.
class SentencePieceDecoder final : public StreamingDecoder {
 public:
  /// `pieces`, by id, must outlive this. With `dummy_prefix`, the mark in front of the text stands for no space; with
  /// `remove_extra_spaces`, so does a mark at the start of every piece as long as there is no text.
  SentencePieceDecoder(const std::vector<DecodedPiece>& pieces, bool dummy_prefix, bool remove_extra_spaces)
      : pieces_(pieces), strips_marks_(dummy_prefix || remove_extra_spaces), all_marks_(remove_extra_spaces) {}

  void decode(std::int32_t id, std::string& text) override;
  void decode_text(std::string_view piece, std::string& text) override;
  void finish(std::string& text) override;

 private:
  void begin_piece(std::string& text);
  void add_piece(std::string_view piece, std::string& text);
  void append(std::string_view part, std::string& text);
  void give_characters(bool more, std::string& text);

  const std::vector<DecodedPiece>& pieces_;
  bool strips_marks_;
  bool all_marks_;
  bool at_start_ = true;
  bool mark_seen_ = false;  // the piece before began with the mark that stands for no space
  bool empty_ = true;       // nothing has been appended
  std::string bytes_;       // that wait
};

}  // namespace dragoman::tokenizer
