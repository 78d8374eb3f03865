#pragma once

#include "regex/parsed_pattern.h"

#include <string_view>

namespace dragoman::tokenizer {

/// Reads a regular expression. The syntax is what its dialect and ours agree on: literals, `.`, classes, \d \w \s and
/// their negations, \p{...} (not in Python), groups, `|`, greedy and lazy quantifiers, \b, \B, and look-around for one
/// character; in Python's dialect also ^ $ \A \Z. Throws Error{kBadInput} that names pattern, offset and reason for
/// anything else, for a pattern that can match the empty text, and for one that is too large.
ParsedPattern parse_pattern(std::string_view pattern, PatternDialect dialect);

}  // namespace dragoman::tokenizer
