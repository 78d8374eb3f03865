#pragma once

#include "base/word_key.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <dragoman/core/huge_pages.h>

namespace dragoman::tokenizer {

struct WordCount {
  std::string_view word;
  std::uint64_t count;
};

/// Distinct words, and how often they occur together.
struct WordTotal {
  std::uint64_t words = 0;
  std::uint64_t occurrences = 0;

  void add(std::uint64_t count) {
    ++words;
    occurrences += count;
  }
};

/// What the tables of one thread take together, and may take.
struct TableMemory {
  std::size_t limit = 0;
  std::size_t used = 0;
  bool full = false;  ///< a table needed more: the words must be taken out before many others come
};

/// Distinct words with how often they occur: open addressing over entries of 24 bytes that hold short words
/// themselves. One thread at a time.
class WordTable {
 public:
  /// With `memory`, which it shares, the table does not grow over the limit until it is nearly bursting.
  explicit WordTable(TableMemory* memory = nullptr) : entries_(kInitialEntries), memory_(memory) {}

  /// Adds `count` (at least 1) to a word that is not empty; `key` is its WordKey.
  void add(std::string_view word, const WordKey& key, std::uint64_t count);
  /// Fetches what add() will look at first.
  void prefetch(const WordKey& key) const noexcept { __builtin_prefetch(&entries_[key.hash & mask()]); }
  /// Forgets a word.
  void remove(std::string_view word, const WordKey& key) noexcept;
  /// visit(word, count) of every word, in no particular order. The words lie in this table.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_)
      if (entry.count != 0) visit(word_of(entry), entry.count);
  }

  /// Forgets the words that occur less often; returns what they were.
  WordTotal drop_below(std::uint64_t min_count) noexcept;
  /// Brings the words into the order of their bytes, in place. Until clear() the table does nothing but list them.
  void sort();
  std::size_t sorted_words() const noexcept { return used_; }
  /// The i-th word after sort(). It lies in this table.
  WordCount sorted_word(std::size_t i) const noexcept { return {word_of(entries_[i]), entries_[i].count}; }
  /// Takes all words out, but keeps the entries for others.
  void clear() noexcept;
  /// No limit from here on.
  void lift_limit() noexcept { memory_ = nullptr; }
  std::size_t entry_bytes() const noexcept { return entries_.size() * sizeof(Entry); }

 private:
  static constexpr std::size_t kInitialEntries = std::size_t{1} << 10;
  struct Entry {
    std::uint64_t low = 0;
    std::uint64_t high = 0;   ///< 0: free
    std::uint64_t count = 0;  ///< 0: forgotten, if not free
  };
  /// What lies in front of a long word's bytes.
  struct LongWord {
    std::uint64_t hash;
    std::uint64_t size;
  };

  std::size_t mask() const noexcept { return entries_.size() - 1; }
  static const LongWord* long_word(const Entry& entry) noexcept {
    return reinterpret_cast<const LongWord*>(static_cast<std::uintptr_t>(entry.low));
  }
  static std::string_view word_of(const Entry& entry) noexcept {
    if (entry.high < WordKey::kLong) return {reinterpret_cast<const char*>(&entry.low), entry.high >> 56};
    const LongWord* word = long_word(entry);
    return {reinterpret_cast<const char*>(word + 1), word->size};
  }
  static bool holds(const Entry& entry, std::string_view word, const WordKey& key) noexcept {
    if (entry.high != key.high) return false;
    return key.high < WordKey::kLong ? entry.low == key.low : word_of(entry) == word;
  }
  static std::uint64_t hash_of(const Entry& entry) noexcept {
    return entry.high < WordKey::kLong ? WordKey::short_hash(entry.low, entry.high) : long_word(entry)->hash;
  }
  static bool is_before(const Entry& a, const Entry& b) noexcept;
  Entry& find(std::string_view word, const WordKey& key) noexcept;
  bool may_grow() noexcept;
  void grow();
  const LongWord* store(std::string_view word, std::uint64_t hash);

  core::PageVector<Entry> entries_;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<std::uint64_t[]>> blocks_;
  std::uint64_t* free_ = nullptr;
  std::size_t free_units_ = 0;
  TableMemory* memory_;
};

/// Distinct words with counts, spread over tables by their hash, so that the counts of several threads can be joined
/// table by table. One thread at a time.
class WordCounts {
 public:
  static constexpr std::size_t kTables = 16;

  WordCounts() : tables_(kTables) {}
  /// With a limit for the bytes of its tables: is_full() says when they have reached it.
  explicit WordCounts(std::size_t limit);

  void add(std::string_view word, std::uint64_t count = 1) {
    const WordKey key = WordKey::of(word);
    table(key).add(word, key, count);
  }
  void remove(std::string_view word) noexcept {
    const WordKey key = WordKey::of(word);
    table(key).remove(word, key);
  }
  WordTable& table(const WordKey& key) noexcept { return tables_[key.hash >> 60]; }
  WordTable& table(std::size_t i) noexcept { return tables_[i]; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const WordTable& table : tables_) table.for_each(visit);
  }
  /// By falling count; words of equal count in no particular order. The words lie in these tables.
  std::vector<WordCount> by_count() const;

  bool is_full() const noexcept { return memory_ != nullptr && memory_->full; }
  /// What the tables take, if there is a limit.
  std::size_t bytes() const noexcept { return memory_ != nullptr ? memory_->used : 0; }
  WordTotal drop_below(std::uint64_t min_count) noexcept;
  WordTotal total() const noexcept;
  /// Takes all words out, but keeps memory for others.
  void clear() noexcept;
  void lift_limit() noexcept;

 private:
  static_assert(kTables == 16, "the top four bits of a hash choose the table");
  std::unique_ptr<TableMemory> memory_;
  std::vector<WordTable> tables_;
};

}  // namespace dragoman::tokenizer
