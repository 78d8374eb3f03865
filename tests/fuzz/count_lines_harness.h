#pragma once

#include "count_lines.h"

#include <cstdint>
#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::fuzz {

/// Reads the text as lines of a count file. True if all were well-formed; anything but an Error, or a line that breaks
/// the promises of the reader, is a fault.
inline bool exercise_count_lines(std::string_view text) {
  bool all_well = true;
  for (const bool whole_lines : {false, true}) {
    tokenizer::CountLines lines(text, {.name = "fuzz", .whole_lines = whole_lines, .counted = 5});
    try {
      std::uint64_t sum = 0;
      for (std::string_view word = lines.next(); !word.empty(); word = lines.next()) {
        sum += lines.count();
        const bool holds = lines.count() > 0 && lines.occurrences() == sum &&
                           sum <= tokenizer::CountLines::kMostOccurrences - 5 &&
                           word.find('\n') == std::string_view::npos && word.data() >= text.data() &&
                           word.data() + word.size() < text.data() + text.size();
        if (!holds) __builtin_trap();
      }
    } catch (const core::Error&) {
      all_well = false;
    }
  }
  return all_well;
}

}  // namespace dragoman::fuzz
