#pragma once

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Whether the tokenizer, of whatever kind, encodes in this mode. It is asked for a letter: who does not have a mode
/// refuses it with Error{kUnsupported}.
bool has_encoding_mode(const Tokenizer& tokenizer, EncodingMode mode);

}  // namespace dragoman::tokenizer
