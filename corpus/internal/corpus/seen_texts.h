#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dragoman::corpus {

/// 128 bits that tell texts apart: among 10^10 of them two are taken for one with a probability of about 10^-19. They
/// differ from process to process (core::hash_seeds), so that nobody can make texts that collide; no output depends on
/// them.
struct TextKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  bool operator==(const TextKey&) const = default;
};

TextKey key_of(std::string_view text) noexcept;
/// Of two texts in order.
TextKey key_of(std::string_view source, std::string_view target) noexcept;

/// A set of texts that takes 22 to 43 bytes for each, whatever their length: 16, and room for growth. One
/// thread at a time.
class SeenTexts {
 public:
  /// True if the text is new, which it is not any more.
  bool insert(const TextKey& key);
  bool contains(const TextKey& key) const;
  std::size_t size() const noexcept;
  /// Of the tables.
  std::size_t bytes() const noexcept;

 private:
  /// Open addressing with linear probing; a key of zeros is an empty slot.
  struct Table {
    std::vector<TextKey> slots;
    std::size_t used = 0;
    bool insert(const TextKey& key);
    void grow();
  };
  /// Many small tables, so that none is large while it grows.
  static constexpr std::size_t kTables = 256;
  std::array<Table, kTables> tables_;
};

}  // namespace dragoman::corpus
