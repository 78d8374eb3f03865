#pragma once

#include "regex/pattern.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// subword-nmt's glossaries: regular expressions, each of which cuts words in turn around what it matches. A segment
/// that one of them matches from end to end is listed, and stays as it is. Immutable: any thread may call.
class Glossaries {
 public:
  /// Throws Error{kBadInput} as parse_pattern() with Python's dialect does.
  explicit Glossaries(const std::vector<std::string>& expressions);

  struct Segment {
    std::size_t begin;
    std::size_t end;
    bool listed;
  };
  /// The segments of a word without spaces, which follow one another.
  std::vector<Segment> cut(std::string_view word) const;

 private:
  struct Entry {
    Pattern pattern;
    Pattern anchored;  ///< with ^ in front and $ behind, which of `a|b` are the end of one side each
  };
  static void cut_segment(const Entry& entry, std::string_view word, Segment segment, std::vector<Segment>& out);

  std::vector<Entry> entries_;
  Pattern any_;
};

}  // namespace dragoman::tokenizer
