#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>

namespace dragoman::imports {

/// Writes a zip archive of less than 4 GiB without compression, file by file. One thread at a time.
class ZipWriter {
 public:
  explicit ZipWriter(const std::filesystem::path& path);
  /// Adds a file whose content is the concatenation of the parts. Throws Error{kUnsupported} beyond 4 GiB.
  void add(std::string name, std::initializer_list<std::string_view> parts);
  /// Gives the archive its name.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t sum = 0;
    std::uint32_t size = 0;
    std::uint32_t place = 0;
  };

  void write(std::string_view bytes);
  static std::string common_fields(const Entry& entry);

  std::filesystem::path path_;
  core::OutputFile file_;
  std::uint64_t written_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace dragoman::imports
