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

/// Lines of ids or pieces to text. Immutable: const calls may come from any thread. The tokenizer must outlive it.
class LineDecoder {
 public:
  /// Throws as PieceLines for kPieces.
  LineDecoder(const Tokenizer& tokenizer, LineFormat format);

  /// Error{kBadInput} for a word that is no piece or no id; its message begins with `where` of the place of the word in
  /// the line.
  std::string decode(std::string_view line, core::FunctionRef<std::string(std::size_t begin)> where) const;

 private:
  const Tokenizer& tokenizer_;
  std::string mark_;                  ///< continuation_mark(), of lines of pieces
  std::optional<PieceLines> pieces_;  ///< of lines of pieces
};

}  // namespace dragoman::tokenizer
