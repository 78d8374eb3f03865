#pragma once

#include "program/command.h"

#include <dragoman/tokenizer/line_coding.h>

namespace dragoman::cli {

/// Returns the value of --format for `encode` and `decode`. `encode` also writes JSON.
inline tokenizer::LineFormat line_format(const std::string& word, bool json = false) {
  if (word == "pieces") return tokenizer::LineFormat::kPieces;
  if (word == "ids") return tokenizer::LineFormat::kIds;
  if (json && word == "json") return tokenizer::LineFormat::kJson;
  throw UsageError("--format " + word + ": must be pieces" + (json ? ", ids or json" : " or ids"));
}

}  // namespace dragoman::cli
