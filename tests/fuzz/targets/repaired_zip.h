#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <zlib.h>

namespace dragoman::fuzz {

/// The same bytes with the CRC-32 of each stored file as its content has it, as far as the archive's directory can be
/// followed: what is behind the comparison of sums is to be reached, too.
inline std::string with_right_sums(std::string_view archive) {
  constexpr std::string_view kEntry("PK\x01\x02", 4);
  constexpr std::size_t kEntrySize = 46;
  constexpr std::size_t kLocalSize = 30;
  std::string repaired(archive);
  const auto number = [&]<class Number>(std::size_t place, Number) {
    Number value{};
    std::memcpy(&value, repaired.data() + place, sizeof value);
    return static_cast<std::size_t>(value);
  };
  for (std::size_t at = repaired.find(kEntry); at != std::string::npos && at + kEntrySize <= repaired.size();
       at = repaired.find(kEntry, at + 1)) {
    const std::size_t size = number(at + 20, std::uint32_t{});
    const std::size_t local = number(at + 42, std::uint32_t{});
    if (local + kLocalSize > repaired.size()) continue;
    const std::size_t begin =
        local + kLocalSize + number(local + 26, std::uint16_t{}) + number(local + 28, std::uint16_t{});
    if (begin > repaired.size() || size > repaired.size() - begin) continue;
    const auto sum =
        static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(repaired.data() + begin), size));
    std::memcpy(repaired.data() + at + 16, &sum, sizeof sum);
  }
  return repaired;
}

}  // namespace dragoman::fuzz
