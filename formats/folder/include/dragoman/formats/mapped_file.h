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

/// Returns the name, safe to print, of the file that a MappedFile has mapped at this address; nullptr if there is none.
/// A signal handler may call it: where a mapped file ends before its mapping does, reading it raises SIGBUS.
const char* name_of_mapped_file(const void* address) noexcept;

/// Takes whole pages of a mapped file out of this process's memory. They come back from the file when they are read.
void release_pages(const void* data, std::size_t bytes) noexcept;

}  // namespace dragoman::formats
