#pragma once

#include "reading/word_table.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// Lists the words of a sorted table.
class TableReader {
 public:
  explicit TableReader(const WordTable& table) : table_(&table) {}
  bool next() {
    if (next_ == table_->sorted_words()) return false;
    current_ = table_->sorted_word(next_++);
    return true;
  }
  std::string_view word() const { return current_.word; }
  std::uint64_t count() const { return current_.count; }

 private:
  const WordTable* table_;
  std::size_t next_ = 0;
  WordCount current_{};
};

/// Merges sources that list words in the order of their bytes into one such list. Counts of equal words are added. A
/// source has next(), word(), which is valid until the following next(), and count().
template <class Source>
class KWayMerge {
 public:
  explicit KWayMerge(std::vector<Source> sources) : sources_(std::move(sources)), current_(sources_.size()) {
    std::iota(current_.begin(), current_.end(), std::size_t{0});
  }

  bool next() {
    for (const std::size_t source : current_)
      if (sources_[source].next()) push(source);
    current_.clear();
    if (heads_.empty()) return false;
    count_ = 0;
    do {
      pop();
      count_ += sources_[current_.back()].count();
    } while (!heads_.empty() && sources_[heads_.front().source].word() == word());
    return true;
  }
  /// Valid until the following next().
  std::string_view word() const { return sources_[current_.front()].word(); }
  std::uint64_t count() const { return count_; }

 private:
  struct Head {
    std::uint64_t first_bytes;  ///< of its word, as a big-endian integer: nearly always enough to compare
    std::size_t source;
  };

  static std::uint64_t first_bytes(std::string_view word) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, word.data(), std::min(word.size(), sizeof(bytes)));
    return __builtin_bswap64(bytes);
  }
  auto is_after() const {
    return [this](const Head& a, const Head& b) {
      if (a.first_bytes != b.first_bytes) return a.first_bytes > b.first_bytes;
      return sources_[a.source].word() > sources_[b.source].word();
    };
  }
  void push(std::size_t source) {
    heads_.push_back({first_bytes(sources_[source].word()), source});
    std::push_heap(heads_.begin(), heads_.end(), is_after());
  }
  void pop() {
    std::pop_heap(heads_.begin(), heads_.end(), is_after());
    current_.push_back(heads_.back().source);
    heads_.pop_back();
  }

  std::vector<Source> sources_;
  std::vector<std::size_t> current_;  // the sources of the current word
  std::vector<Head> heads_;           // of the other sources, the first in order on top
  std::uint64_t count_ = 0;
};

/// Lists all words of sorted tables in one order.
inline KWayMerge<TableReader> merge_tables(WordCounts& counts) {
  std::vector<TableReader> readers;
  for (std::size_t t = 0; t < WordCounts::kTables; ++t) readers.emplace_back(counts.table(t));
  return KWayMerge<TableReader>(std::move(readers));
}

}  // namespace dragoman::tokenizer
