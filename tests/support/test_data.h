#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace dragoman::testing {

/// Returns the source tree, or the part of it that a program packed for another machine has: DRAGOMAN_SOURCE.
std::filesystem::path source_folder();

/// Returns a path in it as text, for command lines: in_source("docs").
inline std::string in_source(const std::string& path) {
  return (source_folder() / path).string();
}

/// Returns the folder with the corpora that we may not distribute: DRAGOMAN_DATA, by default ../shared/data next to the
/// source tree.
inline std::filesystem::path data_folder() {
  const char* folder = std::getenv("DRAGOMAN_DATA");
  return folder != nullptr ? std::filesystem::path(folder) : source_folder() / ".." / "shared" / "data";
}

/// Returns a file in the folder `golden/` of the tests.
std::filesystem::path golden_file(const std::string& name);

/// Returns a program or plugin that was built: the path that dragoman_test_paths() in CMakeLists.txt gives this name.
std::string built(std::string_view name);

/// A new folder in the system's temporary folder, removed with its content at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "dragoman-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace dragoman::testing

/// Skips the test visibly if the corpora are not available.
#define DRAGOMAN_NEEDS_DATA(relative)                                          \
  if (!std::filesystem::exists(dragoman::testing::data_folder() / (relative))) \
  GTEST_SKIP() << "needs " << (dragoman::testing::data_folder() / (relative)).string() << "; set DRAGOMAN_DATA"
