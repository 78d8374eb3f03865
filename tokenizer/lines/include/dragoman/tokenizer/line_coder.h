#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dragoman/tokenizer/line_coding.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Converts single lines of text to lines of pieces or ids and back, as encode_lines() and decode_lines() do for whole
/// files. Immutable: any number of threads may call const functions.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     const LineCoder coder(*tokenizer, LineFormat::kPieces);
///     std::cout << coder.encode("Guten Morgen!") << '\n';           // "▁Guten ▁Morgen !", for example
class LineCoder {
 public:
  /// `tokenizer` must outlive the object. `format` must be kPieces or kIds. Throws Error{kUnsupported} like
  /// encode_lines() if lines cannot represent the pieces.
  LineCoder(const Tokenizer& tokenizer, LineFormat format);
  ~LineCoder();
  LineCoder(LineCoder&&) noexcept;
  LineCoder& operator=(LineCoder&&) noexcept;

  /// Returns the pieces or ids of a text, separated by spaces. Throws the tokenizer's error for a text that cannot be
  /// encoded.
  std::string encode(std::string_view text) const;
  /// Returns the text of a line. Throws Error{kBadInput} with the byte offset for a word that is not a piece or an id.
  std::string decode(std::string_view line) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::tokenizer
