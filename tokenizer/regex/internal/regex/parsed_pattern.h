#pragma once

#include "regex/pattern_program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

/// A part of a pattern that represents one character.
struct PatternAtom {
  enum class Kind { kLiteral, kEscape, kBracket };
  Kind kind;
  std::size_t begin;  ///< its position in the pattern
  std::size_t end;
  std::size_t room;          ///< the position at which a class in brackets may be extended by a character
  std::uint32_t characters;  ///< the number of its class in the program
  bool negated;              ///< \S or [^...]
  bool in_look_around;
};

struct ParsedPattern {
  PatternProgram program;
  std::vector<PatternAtom> atoms;  ///< in the order of the pattern
};

}  // namespace dragoman::tokenizer
