#pragma once

#include "glossaries.h"
#include "pattern/marked_pattern.h"
#include "pattern/pattern.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::fuzz {

inline void check_matches(const tokenizer::Pattern& pattern, std::string_view text) {
  tokenizer::Pattern::Search search(pattern, text);
  std::size_t at = 0;
  for (auto match = search.next(); match; match = search.next()) {
    if (match->begin < at || match->end <= match->begin || match->end > text.size()) __builtin_trap();
    at = match->end;
  }
}

inline void check_segments(const tokenizer::Glossaries& glossaries, std::string_view word) {
  std::size_t at = 0;
  for (const auto& segment : glossaries.cut(word)) {
    if (segment.begin != at || segment.end <= at) __builtin_trap();
    at = segment.end;
  }
  if (at != word.size()) __builtin_trap();
}

/// Takes the first line as a regular expression and the rest as the text to search. True if it was an expression in
/// one of the dialects; anything but an Error is a fault, and so are matches that do not follow one another.
inline bool exercise_pattern(std::string_view bytes) {
  using namespace tokenizer;
  const std::string expression(bytes.substr(0, bytes.find('\n')));
  const std::string_view text = bytes.substr(std::min(expression.size() + 1, bytes.size()));
  bool any = false;
  const auto check = [&](auto&& exercise) {
    try {
      exercise();
      any = true;
    } catch (const core::Error&) {
      // No expression of this dialect.
    }
  };
  check([&] { check_matches(Pattern(expression, PatternDialect::kOniguruma), text); });
  check([&] { check_matches(Pattern(join_patterns({expression, "b"}, true), PatternDialect::kOniguruma), text); });
  if (!text.empty()) check([&] { check_segments(Glossaries({expression, "b"}), text); });
  return any;
}

}  // namespace dragoman::fuzz
