#pragma once

#include "regex/parsed_pattern.h"

#include <string_view>

namespace dragoman::tokenizer {

/// Parses a regular expression of a tokenizer.json. The syntax is a part of Oniguruma's: literals, `.`, classes, \d \w
/// \s and their negations, \p{...}, groups, `|`, greedy and lazy quantifiers, \b, \B, and look-around for one
/// character. Throws Error{kBadInput} that names pattern, offset and reason for anything else, for a pattern that can
/// match the empty text, and for one that is too large.
ParsedPattern parse_pattern(std::string_view pattern);

}  // namespace dragoman::tokenizer
