#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>

namespace dragoman::imports {

/// Writes NumPy's archive of arrays, stored, array by array. One thread.
class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path);
  /// Error{kUnsupported} where the archive would leave 4 GiB, beyond which Marian does not read it.
  void add(const std::string& name, std::span<const std::int64_t> shape, std::span<const float> values);
  /// A C string, as an array of bytes.
  void add_text(const std::string& name, const std::string& text);
  /// Gives the file its name.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t sum = 0;
    std::uint32_t size = 0;
    std::uint32_t place = 0;
  };

  void put(const std::string& name, std::string_view type, std::span<const std::int64_t> shape,
           std::string_view values);
  void write(std::string_view bytes);
  static std::string common_fields(const Entry& entry);

  std::filesystem::path path_;
  core::OutputFile file_;
  std::uint64_t written_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace dragoman::imports
