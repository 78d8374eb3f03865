#pragma once

#include "program/command.h"

#include <dragoman/tokenizer/line_coding.h>

namespace dragoman::cli {

/// The value of --format for `encode` and `decode`.
inline tokenizer::LineFormat line_format(const std::string& word) {
  if (word == "pieces") return tokenizer::LineFormat::kPieces;
  if (word == "ids") return tokenizer::LineFormat::kIds;
  throw UsageError("--format " + word + ": must be pieces or ids");
}

}  // namespace dragoman::cli
