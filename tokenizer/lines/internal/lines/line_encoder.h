#pragma once

#include "dragoman/tokenizer/line_coding.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {

/// A piece as lines of pieces have it: with word marks in place of its spaces.
std::string piece_in_lines(std::string_view piece);
/// The pieces that hold spaces, by what lines have in their place. Throws Error{kUnsupported} if that is another piece
/// as well, or if a piece holds a line feed.
using SpacedPieces = std::map<std::string, std::int32_t, std::less<>>;
SpacedPieces pieces_with_spaces(const Tokenizer& tokenizer);

/// The id that encode() has where the lines of pieces of this tokenizer have text that is no piece; -1 if it has none.
std::int32_t id_of_text_without_piece(const Tokenizer& tokenizer);
/// The mark behind pieces that do not end their word, if the lines of this tokenizer have one; else empty.
std::string continuation_mark(const Tokenizer& tokenizer);
/// Appends a piece of `text` in the form of a line with such marks. If a piece is not in the vocabulary, the character
/// that follows it in the text decides whether it has a mark.
void append_continued_piece(const BpeTokenizer& tokenizer, const Piece& piece, std::string_view text, std::string& out);
/// The text of a line of pieces with such a mark.
std::string join_continued(std::string_view line, std::string_view mark);

/// The text of each id with a space behind it, in slots that most fit into, so that a line is put together with one
/// copy of a fixed size per id.
class IdTexts {
 public:
  IdTexts(const Tokenizer& tokenizer, LineFormat format);
  /// Writes the line of the ids, and its line feed, at the end of `out`.
  void append(std::span<const std::int32_t> ids, std::string& out) const;

 private:
  /// The last byte of a slot is the size of its text, or kLong.
  static constexpr std::uint8_t kLong = 255;

  template <std::size_t kSlot>
  void append_slots(std::span<const std::int32_t> ids, std::string& out) const;
  void set(char* slot, const std::string& text);

  std::size_t slot_;  ///< the bytes of a slot: the fewer, the more of them stay in a cache
  std::vector<char> slots_;
  std::vector<std::string> long_texts_;
};

/// How lines are written; threads share it. Both arguments must outlive it. Throws as encode_lines().
struct LineEncoding {
  LineEncoding(const Tokenizer& tokenizer, const LineCodingOptions& options);

  const Tokenizer& tokenizer;
  const LineCodingOptions& options;
  std::string mark;  ///< lines with continuation marks keep characters that have no piece
  IdTexts texts;
  std::int32_t unknown = -1;  ///< id_of_text_without_piece(), for lines of pieces
};

/// Lines of text to lines of pieces or ids. One thread at a time; the encoding must outlive it.
class LineEncoder {
 public:
  explicit LineEncoder(const LineEncoding& encoding)
      : encoding_(&encoding), encoder_(encoding.tokenizer.make_encoder(encoding.options.encode)) {}

  /// Writes what line `number` becomes, and a line feed, at the end of `out`.
  void append(std::string_view line, std::uint64_t number, std::string& out);
  /// The same for many lines, the first of them line `number`; faster. If one throws, `out` is left with some of them.
  void append_all(std::span<const std::string_view> lines, std::uint64_t number, std::string& out);

 private:
  void append_with_text(std::string_view line, std::uint64_t number, std::string& out) const;
  bool has_text(std::span<const std::int32_t> ids) const;
  void append_n_best(std::string_view line, std::string& out) const;
  void append_json(std::string_view line, std::uint64_t number, std::string& out) const;
  std::span<const std::int32_t> dressed(std::span<const std::int32_t> ids);
  void append_continued(std::string_view line, std::uint64_t number, std::string& out) const;

  const LineEncoding* encoding_;
  std::unique_ptr<TextEncoder> encoder_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> dressed_;
  EncodedTexts encoded_;
};

}  // namespace dragoman::tokenizer
