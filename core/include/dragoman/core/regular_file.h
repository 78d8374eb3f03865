#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace dragoman::core {

/// Reads the bytes of a regular file sequentially, without decompression. InputFile is for text and decompresses.
///
///     RegularFile file("model.safetensors");
///     std::array<char, 4096> block;
///     std::uint64_t total = 0;
///     while (const std::size_t bytes = file.read(block)) total += bytes;
///
/// The kind of the file is checked after it is opened, so no other file can take its place in between. Opening never
/// waits: a pipe or a device is refused. Links are followed.
///
/// Errors: every failure throws Error{kIo} that names the file. An object may be used by one thread at a time.
class RegularFile {
 public:
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(RegularFile&&) noexcept;
  RegularFile& operator=(RegularFile&&) noexcept;

  /// Fills `buffer` as far as the file goes. Returns the number of bytes, which is smaller only at the end.
  std::size_t read(std::span<char> buffer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::core
