#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace dragoman::formats {

/// A regular file mapped read-only.
class MappedFile {
 public:
  /// Throws Error{kIo} naming the file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  void unmap() noexcept;

  std::span<const std::byte> bytes_;
};

/// Takes whole pages of a mapped file out of this process's memory. They come back from the file when they are read.
void release_pages(const void* data, std::size_t bytes) noexcept;

}  // namespace dragoman::formats
