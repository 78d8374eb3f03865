#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dragoman::core {

/// What makes the hashes of this process unlike those of any other: drawn from the operating system before main(). A
/// text or a vocabulary made so that all of its words collide would otherwise turn every hash table into a list. No
/// output may depend on them: whoever lists a table sorts what it lists.
struct HashSeeds {
  HashSeeds() noexcept;
  std::uint64_t first;
  std::uint64_t second;
};
extern HashSeeds hash_seeds;

/// Other seeds, so that tests can see that results do not depend on them. No table may outlive the call.
void reseed_hashes(std::uint64_t seed) noexcept;

/// Of two integers by one multiplication, whose halves mix them.
inline std::uint64_t hash_integers(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ hash_seeds.first) * (b ^ hash_seeds.second);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_integer(std::uint64_t value) noexcept {
  return hash_integers(value, 0);
}

/// Sixteen bytes at a time. The seeds go into every step: with a public function between two lanes, texts could be made
/// whose hashes are equal whatever the hash began with.
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

/// For std::unordered_map and std::unordered_set with keys from files: std::hash gives the same hashes in every
/// process.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return hash_bytes(text); }
};

struct IntegerHash {
  std::size_t operator()(std::uint64_t value) const noexcept { return hash_integer(value); }
};

}  // namespace dragoman::core
