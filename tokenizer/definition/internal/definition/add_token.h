#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <string>

namespace dragoman::tokenizer {

/// Adds a special token or user-defined symbol as the last piece. Throws Error{kInvalidArgument} for one that text or
/// other pieces could be taken for. Texts must escape a special token of one character (escapes.h).
void add_token(BpeDefinition& definition, const std::string& token, bool special);

}  // namespace dragoman::tokenizer
