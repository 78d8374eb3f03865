#pragma once

#include "archive/zip_writer.h"

#include <span>

namespace dragoman::imports {

/// Writes NumPy's archive of arrays, stored, array by array. One thread at a time.
class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path) : archive_(path) {}
  /// Throws Error{kUnsupported} if the archive would exceed 4 GiB, beyond which Marian does not read it.
  void add(const std::string& name, std::span<const std::int64_t> shape, std::span<const float> values);
  /// Adds a C string as an array of bytes.
  void add_text(const std::string& name, const std::string& text);
  /// Gives the file its name.
  void finish() { archive_.finish(); }

 private:
  void put(const std::string& name, std::string_view type, std::span<const std::int64_t> shape,
           std::string_view values);

  ZipWriter archive_;
};

}  // namespace dragoman::imports
