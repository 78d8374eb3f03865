#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Reads and writes lines of pieces in the format of encode_lines() and decode_lines(). Immutable: any number of
/// threads may call const functions. The tokenizer must outlive it.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     const PieceLines lines(*tokenizer);
///     const std::string line = lines.write(tokenizer->encode("Guten Morgen!"));
///     const std::string text = lines.decode(line);
class PieceLines {
 public:
  /// Throws Error{kUnsupported} if a piece contains a line feed, or if a line would show it as another piece.
  explicit PieceLines(const Tokenizer& tokenizer);

  /// Returns the id of a word of a line, or nullopt if the tokenizer has no such piece. The name of a special token
  /// gives that token.
  std::optional<std::int32_t> id(std::string_view word) const;
  /// Returns the words of a line with their bytes in the line. A word that is not a piece has the id -1.
  std::vector<Piece> read(std::string_view line) const;
  /// Returns the id that encode() gives to text without a piece, or -1 if the tokenizer's lines never contain such
  /// text.
  std::int32_t unknown() const noexcept { return unknown_; }
  /// Returns the text of a line. A word that is not a piece stays as it is.
  std::string decode(std::string_view line) const;
  /// Returns the line of the ids. A space in a piece becomes a word mark.
  std::string write(std::span<const std::int32_t> ids) const;

 private:
  const Tokenizer& tokenizer_;
  std::map<std::string, std::int32_t, std::less<>> spaced_;  ///< pieces that contain spaces, as lines show them
  std::string mark_;                                         ///< after pieces that do not end their word, or empty
  std::int32_t unknown_;
};

}  // namespace dragoman::tokenizer
