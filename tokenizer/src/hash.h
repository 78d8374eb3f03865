#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace dragoman::tokenizer {

inline constexpr std::uint64_t kHashMultiplier = 0x9E3779B97F4A7C15u;

/// Mixes 64 bits so that both halves of the result depend on all of them.
inline std::uint64_t hash_integer(std::uint64_t value) noexcept {
  value *= kHashMultiplier;
  value ^= value >> 32;
  value *= kHashMultiplier;
  return value ^ (value >> 29);
}

/// Of two integers by one multiplication, whose halves mix them: what words are looked up by.
inline std::uint64_t hash_integers(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ kHashMultiplier) * (b ^ 0x243F6A8885A308D3u);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_bytes(std::string_view bytes) noexcept {
  std::uint64_t hash = bytes.size() * kHashMultiplier;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t lane;
    std::memcpy(&lane, bytes.data() + i, 8);
    hash = hash_integer(hash ^ lane);
  }
  std::uint64_t tail = 0;
  if (i < bytes.size()) std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
  return hash_integer(hash ^ tail);
}

}  // namespace dragoman::tokenizer
