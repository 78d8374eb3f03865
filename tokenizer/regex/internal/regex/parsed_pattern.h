#pragma once

#include "regex/pattern_program.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
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
  /// The numbers of classes that hold more than ASCII, by their text: such a class takes up to 30 KB, and `\W` is two
  /// bytes. Classes of ASCII are small and may still get the other cases of their letters.
  std::map<std::string, std::uint32_t, std::less<>> shared_classes;
};

}  // namespace dragoman::tokenizer
