#pragma once

#include "regex/marked_pattern.h"
#include "regex/pattern.h"
#include "target.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dragoman::fuzz {

inline void check_matches(const tokenizer::Pattern& pattern, std::string_view text) {
  tokenizer::Pattern::Search search(pattern, text);
  std::size_t at = 0;
  for (auto match = search.next(); match; match = search.next()) {
    promise(match->begin >= at && match->end > match->begin, "matches follow one another and are not empty");
    promise(match->end <= text.size(), "a match lies in the text");
    at = match->end;
  }
}

/// Takes the first line as a regular expression and the rest as the text to search. Returns whether it was an
/// expression.
inline bool exercise_pattern(std::string_view bytes) {
  using namespace tokenizer;
  const std::string expression(bytes.substr(0, bytes.find('\n')));
  const std::string_view text = bytes.substr(std::min(expression.size() + 1, bytes.size()));
  bool any = false;
  const auto check = [&](auto&& exercise) { any = accepts(exercise) || any; };
  check([&] { check_matches(Pattern(expression), text); });
  check([&] { check_matches(Pattern(join_patterns({expression, "b"}, true)), text); });
  return any;
}

/// A class such as \W has hundreds of ranges, and two bytes of a pattern may ask for one; two forms of the expression
/// are compiled. Its ranges take 6 KB.
inline Target pattern_target() {
  return {
      .name = "pattern", .exercise = exercise_pattern, .budget = {.microseconds_per_byte = 25, .bytes_per_byte = 3072}};
}

}  // namespace dragoman::fuzz
