#pragma once

#include "test_data.h"

#include <filesystem>
#include <fstream>
#include <string_view>

namespace dragoman::fuzz {

/// A folder of this process's own, for readers of files.
inline const testing::TemporaryFolder& scratch() {
  static const testing::TemporaryFolder folder;
  return folder;
}

inline void put_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// A file that is unpacked while it is read: what that costs is for the target `compressed` to find.
inline bool is_packed(std::string_view bytes) {
  // A Zstandard file may begin with a frame that is to be skipped: 0x184D2A50 to 0x184D2A5F.
  const bool skippable = bytes.size() >= 4 && (bytes[0] & '\xF0') == '\x50' && bytes.substr(1, 3) == "\x2A\x4D\x18";
  return skippable || bytes.starts_with("\x28\xB5\x2F\xFD") || bytes.starts_with("\x1F\x8B");
}

/// What readers of text refuse before they read a line of it.
inline bool is_no_text(std::string_view bytes) {
  for (const std::string_view head : {"\xFD"
                                      "7zX",
                                      "PK\x03\x04", "\x80\x02\x8a\x0a", "7z\xBC\xAF", "\xFF\xFE", "\xFE\xFF"})
    if (bytes.starts_with(head)) return true;
  return false;
}

}  // namespace dragoman::fuzz
