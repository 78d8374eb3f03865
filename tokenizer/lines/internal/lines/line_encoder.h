#pragma once

#include "dragoman/tokenizer/line_coding.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {

/// Throws Error{kUnsupported} if a piece holds a space or a line feed.
void check_pieces_can_be_listed(const Tokenizer& tokenizer);

/// The mark behind pieces that do not end their word, if the lines of this tokenizer have one; else empty.
std::string continuation_mark(const Tokenizer& tokenizer);
/// Appends a piece of `text` as it stands in a line with such marks. One that is not in the vocabulary, or that ends a
/// segment between glossaries, gets its mark by what follows in the text.
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
  void append_n_best(std::string_view line, std::string& out) const;
  std::span<const std::int32_t> dressed(std::span<const std::int32_t> ids);
  void append_continued(std::string_view line, std::uint64_t number, std::string& out) const;

  const LineEncoding* encoding_;
  std::unique_ptr<TextEncoder> encoder_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> dressed_;
  EncodedTexts encoded_;
};

}  // namespace dragoman::tokenizer
