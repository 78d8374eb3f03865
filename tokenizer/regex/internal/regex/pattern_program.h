#pragma once

#include "regex/character_class.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

/// One step of a regular expression. Jumps are relative to the instruction, so that code can be moved and repeated.
struct Instruction {
  enum class Kind {
    kCharacter,       ///< goes on behind a character of the class
    kSplit,           ///< tries `first`, then `second`
    kJump,            ///< to `first`
    kAhead,           ///< goes on if a character of the class follows,
    kNotAhead,        ///< or if none does;
    kBehind,          ///< if one stands in front,
    kNotBehind,       ///< or if none does
    kWordBoundary,    ///< the class is that of \w
    kNoWordBoundary,  ///< likewise
    kMatch,
  };
  Kind kind;
  std::uint32_t characters = 0;  ///< the number of a class
  std::int32_t first = 1;
  std::int32_t second = 1;
  std::uint32_t memory = 0;  ///< kSplit: its number among them
};

/// A compiled regular expression; ends with kMatch.
struct PatternProgram {
  std::vector<Instruction> code;
  std::vector<icu::UnicodeSet> classes;  ///< frozen, so that threads may share them
  std::uint32_t splits = 0;
};

}  // namespace dragoman::tokenizer
