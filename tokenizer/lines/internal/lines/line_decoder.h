#pragma once

#include "dragoman/tokenizer/line_coding.h"
#include "dragoman/tokenizer/piece_lines.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/function_ref.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Converts lines of ids or pieces to text. Immutable: any number of threads may call const functions. The tokenizer
/// must outlive it.
class LineDecoder {
 public:
  /// Throws like PieceLines for kPieces.
  LineDecoder(const Tokenizer& tokenizer, LineFormat format);

  /// Returns the text of a line. Throws Error{kBadInput} for a word that is not a piece or an id. The message begins
  /// with where(begin), where `begin` is the word's offset in the line.
  std::string decode(std::string_view line, core::FunctionRef<std::string(std::size_t begin)> where) const;

 private:
  const Tokenizer& tokenizer_;
  std::string mark_;                  ///< continuation_mark(), for lines of pieces
  std::optional<PieceLines> pieces_;  ///< for lines of pieces
};

}  // namespace dragoman::tokenizer
