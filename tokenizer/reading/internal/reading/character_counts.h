#pragma once

#include "base/character_table.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

struct CharacterCount {
  char32_t character;
  std::uint64_t count;
};

/// Counts the occurrences of each character. One thread at a time.
class CharacterCounts {
 public:
  void add(char32_t character, std::uint64_t count) {
    std::int32_t place = places_.find(character);
    if (place < 0) {
      place = static_cast<std::int32_t>(counts_.size());
      places_.set(character, place);
      counts_.push_back({character, 0});
    }
    counts_[static_cast<std::size_t>(place)].count += count;
  }
  /// Returns the counts in the order of first occurrence and leaves the object empty.
  std::vector<CharacterCount> take() { return std::move(counts_); }
  /// Returns the counts sorted by falling count, then by code point, and leaves the object empty.
  std::vector<CharacterCount> take_sorted() {
    std::sort(counts_.begin(), counts_.end(), [](const CharacterCount& a, const CharacterCount& b) {
      return a.count != b.count ? a.count > b.count : a.character < b.character;
    });
    return std::move(counts_);
  }

 private:
  CharacterTable places_;
  std::vector<CharacterCount> counts_;
};

}  // namespace dragoman::tokenizer
