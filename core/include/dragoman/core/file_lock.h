#pragma once

#include <filesystem>
#include <optional>

namespace dragoman::core {

/// An advisory lock, flock(2), on a file or folder. It excludes other processes and other parts of this process, until
/// the object or the process ends, in whatever way. On file systems without locks it has no effect and reports no
/// error.
///
///     const FileLock lock = FileLock::acquire("models/de-en");     // until the end of the scope
///
/// An object may be used by one thread at a time.
class FileLock {
 public:
  /// Locks an existing file or folder. Throws Error{kIo} that names it if it is locked already or cannot be opened.
  static FileLock acquire(const std::filesystem::path& path);
  /// Like acquire(), but returns nullopt if it is locked already.
  static std::optional<FileLock> try_acquire(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace dragoman::core
