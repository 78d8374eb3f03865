#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Reads lines `COUNT<TAB>WORD<LF>`. Whatever is wrong with one is an Error{kBadInput} naming file and line.
class CountFileReader {
 public:
  /// Counts of all files together stay below this, so that no sum of them can overflow.
  static constexpr std::uint64_t kMaxOccurrences = std::numeric_limits<std::int64_t>::max();

  /// What a file is called in messages, what its words are, and how many occurrences were counted elsewhere.
  struct Place {
    std::string name;
    std::uint64_t first_line = 0;  ///< from 0
    bool whole_lines = false;      ///< words may hold spaces
    std::uint64_t counted = 0;
  };

  CountFileReader(std::string_view text, Place place) : text_(text), place_(std::move(place)) {}

  /// The next word, or an empty one at the end.
  std::string_view next();
  /// Of the word that next() gave.
  std::uint64_t count() const { return count_; }
  /// The sum of the counts so far.
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
