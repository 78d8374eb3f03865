#pragma once

#include "word_table.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dragoman/core/huge_pages.h>

namespace dragoman::tokenizer {

/// What words were encoded to: open addressing over entries of half a cache line that hold short words and up to three
/// ids themselves. When it is full it forgets everything: frequent words are back at once. One thread at a time.
class WordCache {
 public:
  WordCache() : entries_(kFirstEntries) {}

  void prefetch(const WordKey& key) const noexcept { __builtin_prefetch(&entries_[key.hash & mask()]); }
  /// The word's ids, or null; valid until the next insert().
  struct Ids {
    const std::int32_t* data;
    std::size_t size;
  };
  Ids find(std::string_view word, const WordKey& key) const noexcept {
    for (std::size_t i = key.hash & mask(); entries_[i].high != 0; i = (i + 1) & mask())
      if (holds(entries_[i], word, key)) return ids_of(entries_[i]);
    return {nullptr, 0};
  }
  /// Adds a word that is not there. Words of more than kLongestWord bytes are not worth the room.
  void insert(std::string_view word, const WordKey& key, std::span<const std::int32_t> ids);

 private:
  static constexpr std::size_t kFirstEntries = std::size_t{1} << 12;
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20;  // of 32 bytes
  static constexpr std::size_t kMaxOverflow = std::size_t{1} << 24;
  static constexpr std::size_t kLongestWord = 256;
  static constexpr std::uint32_t kInlineIds = 3;

  struct Entry {
    std::uint64_t low = 0;   ///< of a long word: size and place of its bytes
    std::uint64_t high = 0;  ///< 0: free
    std::uint32_t count = 0;
    std::int32_t ids[kInlineIds] = {};  ///< of more ids the place of the first
  };

  std::size_t mask() const noexcept { return entries_.size() - 1; }
  bool holds(const Entry& entry, std::string_view word, const WordKey& key) const noexcept {
    if (entry.high != key.high) return false;
    if (key.high < WordKey::kLong) return entry.low == key.low;
    return word == std::string_view(bytes_.data() + (entry.low & 0xFFFFFFFF), entry.low >> 32);
  }
  Ids ids_of(const Entry& entry) const noexcept {
    if (entry.count <= kInlineIds) return {entry.ids, entry.count};
    return {ids_.data() + static_cast<std::uint32_t>(entry.ids[0]), entry.count};
  }
  void make_room();

  core::PageVector<Entry> entries_;
  std::size_t used_ = 0;
  std::vector<char> bytes_;
  std::vector<std::int32_t> ids_;
};

}  // namespace dragoman::tokenizer
