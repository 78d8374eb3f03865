#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace dragoman::formats {

/// A regular file that is mapped read-only, from the constructor to the destructor.
///
///     const MappedFile file("model.safetensors");
///     std::cout << file.bytes().size();
///
/// Thread-safe. The file must not be truncated in the meantime: reading beyond its new end raises SIGBUS.
class MappedFile {
 public:
  /// Throws Error{kIo} that names the file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  void unmap() noexcept;

  std::span<const std::byte> bytes_;
};

/// Returns the name, safe to print, of the file that a MappedFile maps at this address, or nullptr if there is none. A
/// signal handler may call it: reading a mapped file that has been truncated raises SIGBUS.
const char* name_of_mapped_file(const void* address) noexcept;

/// Releases whole pages of a mapped file from this process's memory. Reading them loads them from the file again.
void release_pages(const void* data, std::size_t bytes) noexcept;

}  // namespace dragoman::formats
