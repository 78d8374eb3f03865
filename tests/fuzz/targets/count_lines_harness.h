#pragma once

#include "reading/count_file.h"
#include "target.h"

#include <cstdint>
#include <string_view>

namespace dragoman::fuzz {

/// Reads the text as lines of a count file: of words, or of whole lines.
inline void read_count_lines(std::string_view text, bool whole_lines) {
  tokenizer::CountFileReader lines(text, {.name = "fuzz", .whole_lines = whole_lines, .counted = 5});
  std::uint64_t sum = 0;
  for (std::string_view word = lines.next(); !word.empty(); word = lines.next()) {
    sum += lines.count();
    promise(lines.count() > 0 && lines.occurrences() == sum, "counts are positive and are added up");
    promise(sum <= tokenizer::CountFileReader::kMaxOccurrences - 5, "the sum of the counts stays in bounds");
    promise(word.find('\n') == std::string_view::npos, "a word stands on one line");
    promise(word.data() >= text.data() && word.data() + word.size() < text.data() + text.size(),
            "a word is part of the text");
  }
}

/// True if all lines were well-formed in one of the two ways.
inline bool exercise_count_lines(std::string_view text) {
  const bool words = accepts([&] { read_count_lines(text, false); });
  const bool whole_lines = accepts([&] { read_count_lines(text, true); });
  return words || whole_lines;
}

inline Target count_lines_target() {
  return {.name = "count_lines", .exercise = exercise_count_lines, .budget = {.microseconds_per_byte = 0.1}};
}

}  // namespace dragoman::fuzz
