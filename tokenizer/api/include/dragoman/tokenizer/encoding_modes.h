#pragma once

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Returns whether the tokenizer supports the mode. Probes it by encoding one letter: tokenizers throw
/// Error{kUnsupported} for modes that they lack. Thread-safe.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     const bool samples = has_encoding_mode(*tokenizer, EncodingMode::kSample);
bool has_encoding_mode(const Tokenizer& tokenizer, EncodingMode mode);

}  // namespace dragoman::tokenizer
