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

}  // namespace dragoman::fuzz
