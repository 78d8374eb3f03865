#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace dragoman::formats {

/// Memory that is backed by an unnamed file. The system may write its pages to the file, so it does not count as memory
/// that the process needs permanently. The file is deleted with the object.
class ScratchFile {
 public:
  /// Throws Error{kIo} that names the folder if it has not enough space.
  ScratchFile(const std::filesystem::path& folder, std::size_t bytes);
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace dragoman::formats
