#pragma once

#include <cstdint>
#include <string_view>

namespace dragoman::core {

inline constexpr std::uint64_t kFingerprintOfNothing = 0xcbf29ce484222325U;

/// FNV-1a (Fowler, Noll, Vo; 64 bits) of `bytes`, continued from what came `before`. The same in every process and
/// release, so it may stand in files: it tells another text from the same one. No protection against somebody who looks
/// for collisions; hash.h is for tables.
constexpr std::uint64_t fingerprint(std::string_view bytes, std::uint64_t before = kFingerprintOfNothing) noexcept {
  for (const char c : bytes) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return before;
}

/// Of one more line, with its LF.
constexpr std::uint64_t fingerprint_of_line(std::string_view line,
                                            std::uint64_t before = kFingerprintOfNothing) noexcept {
  return fingerprint("\n", fingerprint(line, before));
}

}  // namespace dragoman::core
