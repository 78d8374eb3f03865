#pragma once

#include "base/word_key.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <dragoman/core/huge_pages.h>
#include <dragoman/core/prefetch.h>

namespace dragoman::tokenizer {

/// The ids of a word in compact form: the number of ids in the first byte, then three bytes for each.
class PackedIds {
 public:
  static constexpr std::size_t bytes(std::size_t ids) noexcept { return 1 + 3 * ids; }
  static constexpr std::size_t most(std::size_t bytes) noexcept { return (bytes - 1) / 3; }

  explicit PackedIds(const std::uint8_t* bytes) noexcept : bytes_(bytes) {}
  std::size_t size() const noexcept { return bytes_[0]; }
  std::int32_t operator[](std::size_t i) const noexcept {
    std::uint32_t bits;
    // Starts one byte early, so that nothing after the last id is read.
    std::memcpy(&bits, bytes_ + 3 * i, sizeof bits);
    return static_cast<std::int32_t>(bits >> 8);
  }
  void append_to(std::vector<std::int32_t>& ids) const {
    for (std::size_t i = 0; i < size(); ++i) ids.push_back((*this)[i]);
  }
  const std::uint8_t* data() const noexcept { return bytes_; }
  /// Packs at most 255 ids.
  static PackedIds pack(std::span<const std::int32_t> ids, std::uint8_t* to) noexcept {
    to[0] = static_cast<std::uint8_t>(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) std::memcpy(to + bytes(i), &ids[i], 3);
    return PackedIds(to);
  }

 private:
  const std::uint8_t* bytes_;
};

/// A cache of encoded words of up to 8 * kUnits - 1 bytes. A word may be in one of two entries, which share a cache
/// line if the word is short. The two most recent words for these entries are kept.
///
/// A table that fits into the processor's caches is faster than one of all words: merging a forgotten word again is
/// faster than fetching it from memory. The table grows beyond that size only while many of the words that it misses
/// had been in it before, for example if each line is in another language. One thread at a time.
template <std::size_t kUnits>
class RecentWords {
 public:
  static constexpr std::size_t kKeyBytes = 8 * kUnits;
  static constexpr std::size_t kMaxIds = PackedIds::most(kKeyBytes);

  /// Identifies a word. No word has a key of zeros.
  struct Key {
    std::uint64_t units[kUnits];
    bool operator==(const Key& other) const noexcept {
      std::uint64_t different = 0;  // branch-free, because the branches would be mispredicted
      for (std::size_t i = 0; i < kUnits; ++i) different |= units[i] ^ other.units[i];
      return different == 0;
    }
  };
  struct Entry {
    std::uint8_t ids[kKeyBytes] = {};
    Key key = {};
  };

  RecentWords() : sets_(kFirstSets), forgotten_(kFirstSets) {}

  void prefetch(std::uint64_t hash) const noexcept {
    constexpr std::size_t kCacheLine = 64;
    const auto* set = reinterpret_cast<const char*>(&sets_[hash & mask()]);
    for (std::size_t at = 0; at < sizeof(Set); at += kCacheLine) core::prefetch(set + at);
  }
  /// Returns the packed ids of a word that is not empty, or `otherwise`. They are valid until the next insert().
  const std::uint8_t* find(std::uint64_t hash, const Key& key, const std::uint8_t* otherwise) const noexcept {
    const Set& set = sets_[hash & mask()];
    const std::uintptr_t first = -static_cast<std::uintptr_t>(set.entries[0].key == key);
    const std::uintptr_t second = -static_cast<std::uintptr_t>(set.entries[1].key == key) & ~first;
    const auto a = reinterpret_cast<std::uintptr_t>(set.entries[0].ids);
    const auto b = reinterpret_cast<std::uintptr_t>(set.entries[1].ids);
    const auto c = reinterpret_cast<std::uintptr_t>(otherwise);
    return reinterpret_cast<const std::uint8_t*>((a & first) | (b & second) | (c & ~(first | second)));
  }
  void insert(std::uint64_t hash, const Entry& entry);
  /// Returns the current maximum number of words.
  std::size_t capacity() const noexcept { return 2 * sets_.size(); }

 private:
  struct alignas(2 * sizeof(Entry)) Set {
    Entry entries[2];
  };
  static constexpr std::size_t kFirstSets = 512;
  static constexpr std::size_t kUsualSets = (std::size_t{1} << 19) / sizeof(Set);
  static constexpr std::size_t kMaxSets = (std::size_t{1} << 23) / sizeof(Set);
  static constexpr std::size_t kSample = 8;  // one forgotten word in kSample is remembered

  std::size_t mask() const noexcept { return sets_.size() - 1; }
  static bool in_sample(std::uint64_t hash) noexcept { return hash >> 61 == 0; }
  std::uint32_t& forgotten(std::uint64_t hash) noexcept { return forgotten_[(hash >> 32) & mask()]; }
  void put(std::uint64_t hash, const Entry& entry);
  void grow();

  core::PageVector<Set> sets_;
  std::vector<std::uint32_t> forgotten_;  // half of the hashes of words that have been in the table; one for each set
  std::size_t inserted_ = 0;              // since the table grew, or was found large enough
  std::size_t returned_ = 0;              // the sampled ones of these that had been in the table before
};

inline std::uint64_t hash_of(const RecentWords<2>::Key& key) noexcept {
  return WordKey::short_hash(key.units[0], key.units[1]);
}
inline std::uint64_t hash_of(const RecentWords<4>::Key& key) noexcept {
  return core::hash_integers(core::hash_integers(key.units[0], key.units[1]),
                             core::hash_integers(key.units[2], key.units[3]));
}

/// A cache of encoded words of up to kLongest bytes. One thread at a time.
class WordCache {
 public:
  static constexpr std::size_t kLongest = 31;
  using Short = RecentWords<2>;
  using Long = RecentWords<4>;
  static constexpr std::size_t kMaxBytes = Long::kKeyBytes;  ///< of packed ids

  /// Begins to load what find() will read.
  void prefetch(std::string_view word, const WordKey& key) const noexcept {
    if (word.size() <= WordKey::kInlineBytes)
      short_.prefetch(key.hash);
    else if (word.size() <= kLongest)
      long_.prefetch(hash_of(key_of_long(word)));
  }
  /// Returns the packed ids of a word that is not empty, or `otherwise`. They are valid until the next insert(). `key`
  /// must be the word's key if it is short, and is ignored otherwise.
  const std::uint8_t* find(std::string_view word, const WordKey& key, const std::uint8_t* otherwise) const noexcept {
    if (word.size() <= WordKey::kInlineBytes) return short_.find(key.hash, {{key.low, key.high}}, otherwise);
    if (word.size() > kLongest) return otherwise;
    const Long::Key long_key = key_of_long(word);
    return long_.find(hash_of(long_key), long_key, otherwise);
  }
  /// Adds a word. Words that are too long or have too many ids are not stored.
  void insert(std::string_view word, const WordKey& key, PackedIds ids);

 private:
  /// Returns the first 16 bytes, the last 15 bytes (which may overlap with them), and the length.
  static Long::Key key_of_long(std::string_view word) noexcept {
    Long::Key key;
    std::memcpy(key.units, word.data(), 16);
    std::memcpy(key.units + 2, word.data() + word.size() - 16, 16);
    key.units[2] = (key.units[2] >> 8) | (key.units[3] << 56);
    key.units[3] = (key.units[3] >> 8) | (std::uint64_t{word.size()} << 56);
    return key;
  }

  Short short_;
  Long long_;
};

}  // namespace dragoman::tokenizer
