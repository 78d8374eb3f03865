#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>

namespace dragoman::tokenizer {

/// A set of texts that tells whether another text ends with one of them. A search takes one step for each distinct
/// length.
class SuffixSet {
 public:
  void add(std::string text) {
    const auto place = std::ranges::lower_bound(lengths_, text.size());
    if (place == lengths_.end() || *place != text.size()) lengths_.insert(place, text.size());
    texts_.insert(std::move(text));
  }
  bool empty() const noexcept { return texts_.empty(); }
  std::size_t longest() const noexcept { return lengths_.empty() ? 0 : lengths_.back(); }
  bool has_end_of(std::string_view text) const {
    return std::ranges::any_of(lengths_, [&](std::size_t length) {
      return length <= text.size() && texts_.contains(text.substr(text.size() - length));
    });
  }

 private:
  core::TextSet texts_;
  std::vector<std::size_t> lengths_;  // ascending
};

}  // namespace dragoman::tokenizer
