#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dragoman/tokenizer/line_coding.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Turns single lines of text into lines of pieces or ids and back, as encode_lines() and decode_lines() do with whole
/// files. Immutable: const calls may come from any thread.
class LineCoder {
 public:
  /// `tokenizer` must outlive it; `format` is kPieces or kIds. Error{kUnsupported} for pieces that lines cannot show,
  /// as encode_lines().
  LineCoder(const Tokenizer& tokenizer, LineFormat format);
  ~LineCoder();
  LineCoder(LineCoder&&) noexcept;
  LineCoder& operator=(LineCoder&&) noexcept;

  /// Returns the pieces or ids of a text, with spaces between them. A text that cannot be encoded throws the
  /// tokenizer's error.
  std::string encode(std::string_view text) const;
  /// Returns the text of a line. Error{kBadInput}, with the number of the byte, for a word that is no piece or no id.
  std::string decode(std::string_view line) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::tokenizer
