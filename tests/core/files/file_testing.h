#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::testing {

namespace fs = std::filesystem;

inline void put(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

inline std::string raw(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<std::string> lines_of(const fs::path& path) {
  core::LineReader reader(path);
  std::vector<std::string> lines;
  std::string line;
  while (reader.next(line)) lines.push_back(line);
  EXPECT_EQ(reader.line_number(), lines.size());
  EXPECT_FALSE(reader.next(line)) << "the end stays the end";
  return lines;
}

inline std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Runs a shell command; gzip and zstd are other people's programs, so what they wrote is what users have.
inline void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

/// Expects an Error with this code whose message names the file.
template <class Action>
std::string expect_error(core::ErrorCode code, const fs::path& path, Action&& action) {
  try {
    action();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), ::testing::HasSubstr(path.string()));
    return error.what();
  }
  ADD_FAILURE() << "no error for " << path;
  return "";
}

}  // namespace dragoman::testing
