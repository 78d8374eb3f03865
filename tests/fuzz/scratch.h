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
  return bytes.starts_with("\x28\xB5\x2F\xFD") || bytes.starts_with("\x1F\x8B");
}

}  // namespace dragoman::fuzz
