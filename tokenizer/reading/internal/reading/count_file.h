#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Reads lines `COUNT<TAB>WORD<LF>`. Any malformed line is an Error{kBadInput} that names file and line.
class CountFileReader {
 public:
  /// The sum of the counts of all files must be below this, so that no sum can overflow.
  static constexpr std::uint64_t kMaxOccurrences = std::numeric_limits<std::int64_t>::max();

  /// The name of a file for messages, its kind of words, and the number of occurrences counted elsewhere.
  struct Place {
    std::string name;
    std::uint64_t first_line = 0;  ///< from 0
    bool whole_lines = false;      ///< words may contain spaces
    std::uint64_t counted = 0;
  };

  CountFileReader(std::string_view text, Place place) : text_(text), place_(std::move(place)) {}

  /// Returns the next word, or an empty one at the end.
  std::string_view next();
  /// Returns the count of the word that next() returned.
  std::uint64_t count() const { return count_; }
  /// Returns the sum of the counts so far.
  std::uint64_t occurrences() const { return occurrences_; }

 private:
  std::uint64_t parse_count(std::string_view digits) const;
  void check_word(std::string_view word) const;
  void require_line(bool is_right, std::string_view reason) const;

  std::string_view text_;
  Place place_;
  std::uint64_t line_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t occurrences_ = 0;
};

}  // namespace dragoman::tokenizer
