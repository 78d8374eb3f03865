#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dragoman::core {

/// The random seeds of all hashes of this process, drawn from the operating system before main(). Without them, a
/// crafted text or vocabulary whose words all collide would turn every hash table into a list. No output may depend on
/// the seeds: code that lists a hash table sorts the entries.
struct HashSeeds {
  HashSeeds() noexcept;
  std::uint64_t first;
  std::uint64_t second;
};
extern HashSeeds hash_seeds;

/// Changes the seeds, so that tests can verify that results do not depend on them. No hash table may exist across the
/// call.
void reseed_hashes(std::uint64_t seed) noexcept;

/// Returns a hash of two integers: their product, with its two halves mixed.
inline std::uint64_t hash_integers(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ hash_seeds.first) * (b ^ hash_seeds.second);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_integer(std::uint64_t value) noexcept {
  return hash_integers(value, 0);
}

/// Returns a hash of `bytes`, computed sixteen bytes at a time. The seeds enter every step. With a public function
/// between two steps, an attacker could construct texts whose hashes are equal for any initial value.
inline std::uint64_t hash_bytes(std::string_view bytes) noexcept {
  std::uint64_t hash = bytes.size();
  std::uint64_t lanes[2];
  std::size_t i = 0;
  for (; i + sizeof lanes <= bytes.size(); i += sizeof lanes) {
    std::memcpy(lanes, bytes.data() + i, sizeof lanes);
    hash = hash_integers(lanes[0] ^ hash, lanes[1]);
  }
  lanes[0] = lanes[1] = 0;
  if (i < bytes.size()) std::memcpy(lanes, bytes.data() + i, bytes.size() - i);
  return hash_integers(lanes[0] ^ hash, lanes[1]);
}

/// The hash of the tables in hash_tables.h.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return hash_bytes(text); }
};

/// Like TextHash, for integer keys.
struct IntegerHash {
  std::size_t operator()(std::uint64_t value) const noexcept { return hash_integer(value); }
};

}  // namespace dragoman::core
