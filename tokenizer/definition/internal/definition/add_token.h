#pragma once

#include "dragoman/tokenizer/bpe_definition.h"

#include <span>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Returns the token with each space replaced by `space`.
std::string with_spaces_as(std::string_view space, const std::string& token);

/// Adds special tokens or user-defined symbols as the last pieces. A symbol may contain spaces, which become `space` in
/// its piece. This is kWordMark if symbols are matched in normalised text, and symbols may then also contain the mark
/// itself. Texts must escape a special token of one character (escapes.h). Throws Error{kInvalidArgument} for a token
/// that could be confused with text or other pieces.
void add_tokens(BpeDefinition& definition, std::span<const std::string> tokens, bool special,
                std::string_view space = " ");

}  // namespace dragoman::tokenizer
