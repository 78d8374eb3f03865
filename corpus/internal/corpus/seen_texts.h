#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dragoman::corpus {

/// A 128-bit hash that identifies a text. Among 10^10 texts, two share a hash with a probability of about 10^-19.
/// Hashes differ between processes (core::hash_seeds), so nobody can construct texts that collide. No output depends on
/// them.
struct TextKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  bool operator==(const TextKey&) const = default;
};

TextKey key_of(std::string_view text) noexcept;
/// Returns the key of an ordered pair of texts.
TextKey key_of(std::string_view source, std::string_view target) noexcept;

/// A set of texts. Each takes 22 to 43 bytes, regardless of its length: 16 bytes and room for growth. One thread at a
/// time.
class SeenTexts {
 public:
  /// Adds a text. Returns whether it was new.
  bool insert(const TextKey& key);
  bool contains(const TextKey& key) const;
  std::size_t size() const noexcept;
  /// Returns the bytes of the tables.
  std::size_t bytes() const noexcept;

 private:
  /// A hash table with open addressing and linear probing. A key of zeros marks an empty slot.
  struct Table {
    std::vector<TextKey> slots;
    std::size_t used = 0;
    bool insert(const TextKey& key);
    void grow();
  };
  /// Many small tables, because a table needs its old and new memory at the same time while it grows.
  static constexpr std::size_t kTables = 256;
  std::array<Table, kTables> tables_;
};

}  // namespace dragoman::corpus
