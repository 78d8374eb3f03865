#pragma once

#include <cstdint>
#include <string_view>

namespace dragoman::core {

/// The fingerprint of an empty text, with which a computation starts.
inline constexpr std::uint64_t kFingerprintOfNothing = 0xcbf29ce484222325U;

/// Returns the 64-bit FNV-1a hash (Fowler, Noll, Vo) of `bytes`, continued from the fingerprint `before`.
///
/// The value is the same in every process and release, so it may be stored in files to detect a changed text. It does
/// not protect against deliberate collisions. For hash tables use hash.h.
///
///     static_assert(fingerprint("lo", fingerprint("hel")) == fingerprint("hello"));
constexpr std::uint64_t fingerprint(std::string_view bytes, std::uint64_t before = kFingerprintOfNothing) noexcept {
  for (const char c : bytes) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return before;
}

/// Returns the fingerprint continued by one line and its LF.
constexpr std::uint64_t fingerprint_of_line(std::string_view line,
                                            std::uint64_t before = kFingerprintOfNothing) noexcept {
  return fingerprint("\n", fingerprint(line, before));
}

}  // namespace dragoman::core
