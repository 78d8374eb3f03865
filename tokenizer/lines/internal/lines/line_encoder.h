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

/// Returns a piece as it appears in lines of pieces: with word marks in place of its spaces.
std::string piece_in_lines(std::string_view piece);
/// The pieces that contain spaces, by their form in lines. Throws Error{kUnsupported} if that form is another piece
/// too, or if a piece contains a line feed.
using SpacedPieces = std::map<std::string, std::int32_t, std::less<>>;
SpacedPieces pieces_with_spaces(const Tokenizer& tokenizer);

/// Returns the id that encode() gives to text without a piece in the lines of this tokenizer, or -1 if there is none.
std::int32_t id_of_text_without_piece(const Tokenizer& tokenizer);
/// Returns the mark after pieces that do not end their word, if the lines of this tokenizer have one; else an empty
/// string.
std::string continuation_mark(const Tokenizer& tokenizer);
/// Appends a piece of `text` in the form of a line with such marks. If a piece is not in the vocabulary, the character
/// after it in the text decides whether it has a mark.
void append_continued_piece(const BpeTokenizer& tokenizer, const Piece& piece, std::string_view text, std::string& out);
/// Returns the text of a line of pieces with such a mark.
std::string join_continued(std::string_view line, std::string_view mark);

/// The text of each id with a trailing space, in slots that are large enough for most texts. A line is composed with
/// one copy of a fixed size per id.
class IdTexts {
 public:
  IdTexts(const Tokenizer& tokenizer, LineFormat format);
  /// Appends the line of the ids, and its line feed, to `out`.
  void append(std::span<const std::int32_t> ids, std::string& out) const;

 private:
  /// The last byte of a slot is the size of its text, or kLong.
  static constexpr std::uint8_t kLong = 255;

  template <std::size_t kSlot>
  void append_slots(std::span<const std::int32_t> ids, std::string& out) const;
  void set(char* slot, const std::string& text);

  std::size_t slot_;  ///< in bytes: smaller slots fit into a cache in larger numbers
  std::vector<char> slots_;
  std::vector<std::string> long_texts_;
};

/// The settings and tables for writing lines. Threads share it. Both arguments must outlive it. Throws like
/// encode_lines().
struct LineEncoding {
  LineEncoding(const Tokenizer& tokenizer, const LineCodingOptions& options);

  const Tokenizer& tokenizer;
  const LineCodingOptions& options;
  std::string mark;  ///< lines with continuation marks keep characters without a piece
  IdTexts texts;
  std::int32_t unknown = -1;  ///< id_of_text_without_piece(), for lines of pieces
};

/// Converts lines of text to lines of pieces or ids. One thread at a time. The encoding must outlive it.
class LineEncoder {
 public:
  explicit LineEncoder(const LineEncoding& encoding)
      : encoding_(&encoding), encoder_(encoding.tokenizer.make_encoder(encoding.options.encode)) {}

  /// Appends the result for line `number`, and a line feed, to `out`.
  void append(std::string_view line, std::uint64_t number, std::string& out);
  /// Like append() for several lines, the first of which is line `number`, but faster. If one throws, `out` may contain
  /// some of them.
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
