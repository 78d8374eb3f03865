#include "dragoman/tokenizer/encoding_modes.h"

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

bool has_encoding_mode(const Tokenizer& tokenizer, EncodingMode mode) {
  try {
    tokenizer.encode("a", {.mode = mode});
  } catch (const core::Error& error) {
    return error.code() != core::ErrorCode::kUnsupported;  // a letter without a piece is unrelated to the mode
  }
  return true;
}

}  // namespace dragoman::tokenizer
