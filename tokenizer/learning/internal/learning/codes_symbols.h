#pragma once

#include "base/pair_map.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>

namespace dragoman::tokenizer {

/// A pair of neighbouring symbols.
struct SymbolPair {
  std::int32_t left;
  std::int32_t right;
  bool operator==(const SymbolPair&) const = default;
};

/// Numbers pairs of symbols 0, 1, 2, ... in the order of the first calls of number().
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

 private:
  PairMap<std::uint32_t> numbers_;  // plus 1
  std::vector<std::uint64_t> keys_;
};

/// The strings of symbols by id. Symbols are equal exactly if their strings are, whichever merges produced them.
class SymbolNames {
 public:
  /// Returns the id of a string, which is new if the string has none.
  std::int32_t id(std::string_view name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    const auto id = static_cast<std::int32_t>(names_.size());
    ids_.emplace(names_.emplace_back(name), id);
    return id;
  }
  std::int32_t joined(std::int32_t left, std::int32_t right) { return id((*this)[left] + (*this)[right]); }
  const std::string& operator[](std::int32_t id) const { return names_[static_cast<std::size_t>(id)]; }
  std::size_t size() const noexcept { return names_.size(); }

 private:
  std::deque<std::string> names_;  // its strings never move
  core::TextViewMap<std::int32_t> ids_;
};

/// The distinct words of a corpus as symbols. Merges make their number smaller.
class CodesWords {
 public:
  void add(std::span<const std::int32_t> symbols, std::uint64_t count) {
    words_.push_back({symbols_.size(), static_cast<std::uint32_t>(symbols.size()), static_cast<std::int64_t>(count)});
    symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
  }

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(words_.size()); }
  std::span<const std::int32_t> symbols(std::uint32_t word) const noexcept {
    return std::span(symbols_).subspan(words_[word].begin, words_[word].length);
  }
  /// Returns the number of occurrences in the corpus.
  std::int64_t count(std::uint32_t word) const noexcept { return words_[word].count; }

  /// Replaces the symbols of a word. Their number must not rise.
  void replace(std::uint32_t word, std::span<const std::int32_t> symbols) noexcept {
    std::ranges::copy(symbols, symbols_.begin() + static_cast<std::ptrdiff_t>(words_[word].begin));
    words_[word].length = static_cast<std::uint32_t>(symbols.size());
  }

 private:
  struct Word {
    std::size_t begin;
    std::uint32_t length;
    std::int64_t count;
  };

  std::vector<Word> words_;
  std::vector<std::int32_t> symbols_;
};

}  // namespace dragoman::tokenizer
