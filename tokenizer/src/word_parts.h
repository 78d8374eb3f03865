#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman::tokenizer {

/// Where words are cut apart from spaces and patterns.
struct WordParts {
  bool at_digits = false;  ///< each character of Unicode's category N is a part
  bool at_case = false;    ///< a part ends where an upper-case letter follows a lower-case one

  bool any() const { return at_digits || at_case; }
  /// The end of the part of `word` that begins at `start` < word.size().
  std::size_t end_of_part(std::string_view word, std::size_t start) const;
};

}  // namespace dragoman::tokenizer
