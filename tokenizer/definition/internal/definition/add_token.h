#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <span>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// The token with each space of it as `space`.
std::string with_spaces_as(std::string_view space, const std::string& token);

/// Adds special tokens or user-defined symbols as the last pieces. A symbol may hold spaces, which its piece has as
/// `space`: kWordMark, if symbols are looked for in normalised text, where the mark may be given as well. Throws
/// Error{kInvalidArgument} for one that text or other pieces could be taken for. Texts must escape a special token of
/// one character (escapes.h).
void add_tokens(BpeDefinition& definition, std::span<const std::string> tokens, bool special,
                std::string_view space = " ");

}  // namespace dragoman::tokenizer
