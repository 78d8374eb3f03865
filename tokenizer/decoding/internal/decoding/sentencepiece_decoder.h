#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// The role of a piece in decoding.
struct DecodedPiece {
  enum class Kind {
    kPiece,    ///< its marks are spaces
    kSurface,  ///< represents `text`, which may be empty
    kByte,
  };
  Kind kind = Kind::kPiece;
  std::string_view text = {};
  char byte = 0;
};

/// Concatenates pieces to text like the SentencePiece library. Appended text is final. Only bytes are held back until
/// they form a character or no longer can.
class SentencePieceDecoder final : public StreamingDecoder {
 public:
  /// `pieces`, by id, must outlive the object. With `dummy_prefix`, the mark at the start of the text is dropped. With
  /// `remove_extra_spaces`, a mark at the start of every piece is dropped as long as there is no text.
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
  bool mark_seen_ = false;  // the previous piece began with the mark that is dropped
  bool empty_ = true;       // nothing has been appended
  std::string bytes_;       // held back
};

}  // namespace dragoman::tokenizer
