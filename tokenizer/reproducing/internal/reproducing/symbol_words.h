#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::tokenizer {

/// The distinct words of a corpus as symbols, of which they have ever fewer.
class SymbolWords {
 public:
  void add(std::span<const std::int32_t> symbols, std::uint64_t count) {
    words_.push_back({symbols_.size(), static_cast<std::uint32_t>(symbols.size()), static_cast<std::int64_t>(count)});
    symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
  }

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(words_.size()); }
  std::span<const std::int32_t> symbols(std::uint32_t word) const noexcept {
    return std::span(symbols_).subspan(words_[word].begin, words_[word].length);
  }
  /// How often the word occurs in the corpus.
  std::int64_t count(std::uint32_t word) const noexcept { return words_[word].count; }

  /// `symbols` must not be more than the word has.
  void replace(std::uint32_t word, std::span<const std::int32_t> symbols) noexcept {
    std::copy(symbols.begin(), symbols.end(), symbols_.begin() + static_cast<std::ptrdiff_t>(words_[word].begin));
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
