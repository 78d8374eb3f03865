#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <zlib.h>

#include <dragoman/core/stop_scope.h>

namespace dragoman::imports {

// Signatures of the parts of a zip archive, with section numbers of PKWARE's APPNOTE 6.3.
inline constexpr std::uint32_t kZipLocalHeader = 0x04034B50;       // 4.3.7
inline constexpr std::uint32_t kZipDirectoryEntry = 0x02014B50;    // 4.3.12
inline constexpr std::uint32_t kZipDirectoryEnd64 = 0x06064B50;    // 4.3.14
inline constexpr std::uint32_t kZipDirectoryLocator = 0x07064B50;  // 4.3.15
inline constexpr std::uint32_t kZipDirectoryEnd = 0x06054B50;      // 4.3.16

/// Returns the CRC-32 (4.4.7) continued from `sum` by `bytes`.
inline std::uint32_t add_to_zip_sum(std::uint32_t sum, std::string_view bytes) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 22;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kAtOnce, bytes.size()))) {
    core::check_stop("computing checksums");
    const std::string_view part = bytes.substr(0, kAtOnce);
    sum = static_cast<std::uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(part.data()), part.size()));
  }
  return sum;
}

}  // namespace dragoman::imports
