#pragma once

#include <filesystem>
#include <optional>

namespace dragoman::core {

/// Keeps other processes (and other parts of this one) from working on a file or folder at the same time: an advisory
/// lock, flock(2), that ends with the object or with the process, however it ends. On file systems that have no locks
/// it holds nothing and says nothing.
class FileLock {
 public:
  /// Locks an existing file or folder. Error{kIo} that names it if somebody else holds it, or if it cannot be opened.
  static FileLock acquire(const std::filesystem::path& path);
  /// The same, but nothing if somebody else holds it.
  static std::optional<FileLock> try_acquire(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace dragoman::core
