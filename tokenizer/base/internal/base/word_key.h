#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <dragoman/core/hash.h>

namespace dragoman::tokenizer {

/// A word in the form in which tables compare it. A word of up to 15 bytes is stored in two integers. The bytes of a
/// longer word are stored elsewhere.
struct WordKey {
  static constexpr std::size_t kInlineBytes = 15;

  /// Returns the key of a word that is followed by at least 16 readable bytes.
  static WordKey padded(std::string_view word) noexcept {
    if (word.size() > kInlineBytes) return of_long(word);
    WordKey key{};
    std::memcpy(&key.low, word.data(), 8);
    std::memcpy(&key.high, word.data() + 8, 8);
    const std::size_t bits = word.size() * 8;
    key.low &= low_bits(bits);
    key.high &= bits < 64 ? 0 : low_bits(bits - 64);
    return packed(key.low, key.high, word.size());
  }
  /// Returns the key of a short word, given its bytes with zeros after them.
  static WordKey packed(std::uint64_t low, std::uint64_t high, std::size_t size) noexcept {
    high |= static_cast<std::uint64_t>(size) << 56;
    return {low, high, short_hash(low, high)};
  }
  static WordKey of(std::string_view word) noexcept {
    if (word.size() > kInlineBytes) return of_long(word);
    char bytes[2 * 16] = {};
    std::memcpy(bytes, word.data(), word.size());
    return padded({bytes, word.size()});
  }

  static std::uint64_t short_hash(std::uint64_t low, std::uint64_t high) noexcept {
    return core::hash_integers(low, high);
  }

  std::uint64_t low;  ///< the first 8 bytes, or the address of the bytes of a long word
  /// The other bytes and the length in the top byte; for a long word, kLong and a part of its hash.
  std::uint64_t high;
  std::uint64_t hash;
  static constexpr std::uint64_t kLong = std::uint64_t{0xFF} << 56;

 private:
  static_assert(std::endian::native == std::endian::little, "words are packed as little-endian integers");
  static constexpr std::uint64_t low_bits(std::size_t bits) noexcept {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
  static WordKey of_long(std::string_view word) noexcept {
    const std::uint64_t hash = core::hash_bytes(word);
    return {reinterpret_cast<std::uintptr_t>(word.data()), kLong | (hash >> 8), hash};
  }
};

}  // namespace dragoman::tokenizer
