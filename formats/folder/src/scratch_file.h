#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace dragoman::formats {

/// Memory that is written and read, and lies in a file without a name: the system may take its pages back, so it is not
/// of what a process cannot do without. Goes with the object.
class ScratchFile {
 public:
  /// Error{kIo} naming the folder, if it cannot hold so much.
  ScratchFile(const std::filesystem::path& folder, std::size_t bytes);
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace dragoman::formats
