#pragma once

#include "base/pair_map.h"

#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

/// A pair of symbols that is, or was, to be merged.
struct SymbolPair {
  std::int32_t left;
  std::int32_t right;
  bool operator==(const SymbolPair&) const = default;
};

/// Numbers pairs of symbols 0, 1, 2, ... in the order in which they are first asked for.
class PairNumbers {
 public:
  std::uint32_t number(SymbolPair pair) {
    const std::uint64_t key = pair_key(pair.left, pair.right);
    std::uint32_t& next = numbers_.at(key);
    if (next == 0) {
      keys_.push_back(key);
      next = static_cast<std::uint32_t>(keys_.size());
    }
    return next - 1;
  }
  SymbolPair pair(std::uint32_t number) const noexcept { return {pair_left(keys_[number]), pair_right(keys_[number])}; }
  /// Sorts by the left id, then by the right one.
  std::uint64_t key(std::uint32_t number) const noexcept { return keys_[number]; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(keys_.size()); }

 private:
  PairMap<std::uint32_t> numbers_;  // plus 1
  std::vector<std::uint64_t> keys_;
};

}  // namespace dragoman::tokenizer
