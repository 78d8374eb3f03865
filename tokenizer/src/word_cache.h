#pragma once

#include "word_table.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <dragoman/core/huge_pages.h>

namespace dragoman::tokenizer {

/// The ids of a word in few bytes: their number in the first, then three bytes each.
class PackedIds {
 public:
  static constexpr std::size_t bytes(std::size_t ids) noexcept { return 1 + 3 * ids; }
  static constexpr std::size_t most(std::size_t bytes) noexcept { return (bytes - 1) / 3; }

  explicit PackedIds(const std::uint8_t* bytes) noexcept : bytes_(bytes) {}
  std::size_t size() const noexcept { return bytes_[0]; }
  std::int32_t operator[](std::size_t i) const noexcept {
    std::uint32_t bits;
    std::memcpy(&bits, bytes_ + 3 * i, sizeof bits);  // the byte in front, too: so nothing behind the last id is read
    return static_cast<std::int32_t>(bits >> 8);
  }
  void append_to(std::vector<std::int32_t>& ids) const {
    for (std::size_t i = 0; i < size(); ++i) ids.push_back((*this)[i]);
  }
  const std::uint8_t* data() const noexcept { return bytes_; }
  /// At most 255 ids.
  static PackedIds pack(std::span<const std::int32_t> ids, std::uint8_t* to) noexcept {
    to[0] = static_cast<std::uint8_t>(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) std::memcpy(to + bytes(i), &ids[i], 3);
    return PackedIds(to);
  }

 private:
  const std::uint8_t* bytes_;
};

/// What words of up to 8 * kUnits - 1 bytes were encoded to lately. Each word has two entries that it may be in, in one
/// cache line if it is short; of the words that want them the latest two are kept. So small a table beats one of all
/// words: it stays in the caches of its processor, and whatever it has forgotten is merged again sooner than it would
/// be fetched from memory. One thread at a time.
template <std::size_t kUnits>
class RecentWords {
 public:
  static constexpr std::size_t kKeyBytes = 8 * kUnits;
  static constexpr std::size_t kMostIds = PackedIds::most(kKeyBytes);

  /// What tells words apart. All zeros are no word's.
  struct Key {
    std::uint64_t units[kUnits];
    bool operator==(const Key& other) const noexcept {
      std::uint64_t different = 0;  // without branches, which would be foretold wrongly
      for (std::size_t i = 0; i < kUnits; ++i) different |= units[i] ^ other.units[i];
      return different == 0;
    }
  };
  struct Entry {
    std::uint8_t ids[kKeyBytes] = {};
    Key key = {};
  };

  explicit RecentWords(std::size_t most_sets) : sets_(kFirstSets), most_sets_(most_sets) {}

  /// The packed ids of a word that is not empty, valid until the next insert(), or `otherwise`.
  const std::uint8_t* find(std::uint64_t hash, const Key& key, const std::uint8_t* otherwise) const noexcept {
    const Set& set = sets_[hash & mask()];
    const std::uintptr_t first = -static_cast<std::uintptr_t>(set.entries[0].key == key);
    const std::uintptr_t second = -static_cast<std::uintptr_t>(set.entries[1].key == key) & ~first;
    const auto a = reinterpret_cast<std::uintptr_t>(set.entries[0].ids);
    const auto b = reinterpret_cast<std::uintptr_t>(set.entries[1].ids);
    const auto c = reinterpret_cast<std::uintptr_t>(otherwise);
    return reinterpret_cast<const std::uint8_t*>((a & first) | (b & second) | (c & ~(first | second)));
  }
  void insert(std::uint64_t hash, const Entry& entry) {
    Set& set = sets_[hash & mask()];
    if (set.entries[0].key == entry.key) return;
    set.entries[1] = set.entries[0];
    set.entries[0] = entry;
    if (++inserted_ > sets_.size() && sets_.size() < most_sets_) grow();
  }

 private:
  static constexpr std::size_t kFirstSets = 256;
  struct alignas(2 * sizeof(Entry)) Set {
    Entry entries[2];
  };

  std::size_t mask() const noexcept { return sets_.size() - 1; }
  void grow();

  core::PageVector<Set> sets_;
  std::size_t most_sets_;
  std::size_t inserted_ = 0;
};

inline std::uint64_t hash_of(const RecentWords<2>::Key& key) noexcept {
  return WordKey::short_hash(key.units[0], key.units[1]);
}
inline std::uint64_t hash_of(const RecentWords<4>::Key& key) noexcept {
  return hash_integers(hash_integers(key.units[0], key.units[1]), hash_integers(key.units[2], key.units[3]));
}

/// What words of up to kLongest bytes were encoded to lately. One thread at a time.
class WordCache {
 public:
  static constexpr std::size_t kLongest = 31;
  using Short = RecentWords<2>;
  using Long = RecentWords<4>;
  static constexpr std::size_t kMostBytes = Long::kKeyBytes;  ///< of packed ids

  /// The packed ids of a word that is not empty, valid until the next insert(), or `otherwise`. `key` is its key if it
  /// is short, and not looked at if it is not.
  const std::uint8_t* find(std::string_view word, const WordKey& key, const std::uint8_t* otherwise) const noexcept {
    if (word.size() <= WordKey::kInlineBytes) return short_.find(key.hash, {{key.low, key.high}}, otherwise);
    if (word.size() > kLongest) return otherwise;
    const Long::Key long_key = key_of_long(word);
    return long_.find(hash_of(long_key), long_key, otherwise);
  }
  /// Words that are too long, or have too many ids, are not kept.
  void insert(std::string_view word, const WordKey& key, PackedIds ids);

 private:
  /// The first 16 bytes, which may overlap with the last 15, and the length.
  static Long::Key key_of_long(std::string_view word) noexcept {
    Long::Key key;
    std::memcpy(key.units, word.data(), 16);
    std::memcpy(key.units + 2, word.data() + word.size() - 16, 16);
    key.units[2] = (key.units[2] >> 8) | (key.units[3] << 56);
    key.units[3] = (key.units[3] >> 8) | (std::uint64_t{word.size()} << 56);
    return key;
  }

  // A half a megabyte, and a quarter of one: not more than the second-level caches of usual processors hold.
  Short short_{std::size_t{1} << 13};
  Long long_{std::size_t{1} << 11};
};

}  // namespace dragoman::tokenizer
