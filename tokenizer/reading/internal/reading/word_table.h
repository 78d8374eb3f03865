#pragma once

#include "base/word_key.h"
#include "reading/thread_arena.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <dragoman/core/huge_pages.h>
#include <dragoman/core/prefetch.h>

namespace dragoman::tokenizer {

struct WordCount {
  std::string_view word;
  std::uint64_t count;
};

/// The number of distinct words, and of their occurrences.
struct WordTotal {
  std::uint64_t words = 0;
  std::uint64_t occurrences = 0;

  void add(std::uint64_t count) {
    ++words;
    occurrences += count;
  }
};

/// The memory that the tables of one thread use together, and their limit.
struct TableMemory {
  std::size_t limit = 0;
  std::size_t used = 0;
  bool full = false;  ///< a table needed more: the words must be removed before many others are added
};

/// Counts distinct words. Open addressing with entries of 24 bytes that contain short words themselves. One thread at a
/// time.
class WordTable {
 public:
  /// With `memory`, which tables share, the table does not grow over the limit until it is almost full.
  explicit WordTable(TableMemory* memory = nullptr) : entries_(kInitialEntries), memory_(memory) {}

  /// Adds `count` (at least 1) to a word that is not empty. `key` must be its WordKey.
  void add(std::string_view word, const WordKey& key, std::uint64_t count);
  /// Prefetches the first entry that add() will read.
  void prefetch(const WordKey& key) const noexcept { core::prefetch(&entries_[key.hash & mask()]); }
  /// Removes a word.
  void remove(std::string_view word, const WordKey& key) noexcept;
  /// Calls visit(word, count) for every word, in no particular order. The words refer to memory of this table.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_)
      if (entry.count != 0) visit(word_of(entry), entry.count);
  }

  /// Removes the words that occur less often, and returns their totals.
  WordTotal drop_below(std::uint64_t min_count) noexcept;
  /// Sorts the words by their bytes, in place. Until clear(), the table can only list them.
  void sort();
  std::size_t sorted_words() const noexcept { return used_; }
  /// Returns the i-th word after sort(). It refers to memory of this table.
  WordCount sorted_word(std::size_t i) const noexcept { return {word_of(entries_[i]), entries_[i].count}; }
  /// Removes all words, but keeps the memory of the entries.
  void clear() noexcept;
  /// Removes the limit.
  void lift_limit() noexcept { memory_ = nullptr; }
  std::size_t entry_bytes() const noexcept { return entries_.size() * sizeof(Entry); }

 private:
  static constexpr std::size_t kInitialEntries = std::size_t{1} << 10;
  struct Entry {
    std::uint64_t low = 0;
    std::uint64_t high = 0;   ///< 0: free
    std::uint64_t count = 0;  ///< 0: removed, if not free
  };
  /// The header before a long word's bytes.
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

/// Distinct words with counts, distributed over tables by their hash, so that the counts of several threads can be
/// joined table by table. One thread at a time.
class WordCounts {
 public:
  static constexpr std::size_t kTables = 16;

  WordCounts() : tables_(kTables) {}
  /// Limits the bytes of the tables. is_full() returns whether they have reached the limit.
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
  /// Sorted by falling count; words of equal count are in no particular order. The words refer to memory of these
  /// tables.
  std::vector<WordCount> by_count(ThreadArena& arena) const;

  bool is_full() const noexcept { return memory_ != nullptr && memory_->full; }
  /// Returns the bytes of the tables, if there is a limit.
  std::size_t bytes() const noexcept { return memory_ != nullptr ? memory_->used : 0; }
  WordTotal drop_below(std::uint64_t min_count) noexcept;
  WordTotal total() const noexcept;
  /// Removes all words, but keeps memory for others.
  void clear() noexcept;
  void lift_limit() noexcept;

 private:
  static_assert(kTables == 16, "the top four bits of a hash choose the table");
  std::unique_ptr<TableMemory> memory_;
  std::vector<WordTable> tables_;
};

}  // namespace dragoman::tokenizer
