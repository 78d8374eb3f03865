#pragma once

#include "pattern_program.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// A part of a pattern that stands for one character.
struct PatternAtom {
  enum class Kind { kLiteral, kEscape, kBracket };
  Kind kind;
  std::size_t begin;  ///< its place in the pattern
  std::size_t end;
  std::size_t room;          ///< where a class in brackets may have one more character
  std::uint32_t characters;  ///< the number of its class in the program
  bool negated;              ///< \S or [^...]
  bool in_look_around;
};

struct ParsedPattern {
  PatternProgram program;
  std::vector<PatternAtom> atoms;  ///< in the order of the pattern
};

/// Reads a regular expression. The syntax is what its dialect and ours agree on: literals, `.`, classes, \d \w \s and
/// their negations, \p{...} (not in Python), groups, `|`, greedy and lazy quantifiers, \b, \B, and look-around for one
/// character; in Python's dialect also ^ $ \A \Z. Throws Error{kBadInput} that names pattern, offset and reason for
/// anything else, for a pattern that can match the empty text, and for one that is too large.
ParsedPattern parse_pattern(std::string_view pattern, PatternDialect dialect);

}  // namespace dragoman::tokenizer
