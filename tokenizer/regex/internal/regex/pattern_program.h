#pragma once

#include "regex/character_class.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

/// One step of a regular expression. Jumps are relative to the instruction, so that code can be moved and repeated.
struct Instruction {
  enum class Kind {
    kCharacter,       ///< consumes a character of the class
    kSplit,           ///< tries `first`, then `second`
    kJump,            ///< to `first`
    kAhead,           ///< continues if a character of the class follows
    kNotAhead,        ///< continues if none follows
    kBehind,          ///< continues if a character of the class precedes
    kNotBehind,       ///< continues if none precedes
    kWordBoundary,    ///< the class is that for \w
    kNoWordBoundary,  ///< the class is that for \w
    kMatch,
  };
  Kind kind;
  std::uint32_t characters = 0;  ///< the number of a class
  std::int32_t first = 1;
  std::int32_t second = 1;
  std::uint32_t memory = 0;  ///< for kSplit: its number among the splits
};

/// A compiled regular expression. It ends with kMatch.
struct PatternProgram {
  std::vector<Instruction> code;
  std::vector<icu::UnicodeSet> classes;  ///< frozen, so that threads may share them
  std::uint32_t splits = 0;
};

}  // namespace dragoman::tokenizer
