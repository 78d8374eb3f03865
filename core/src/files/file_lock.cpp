#include "dragoman/core/file_lock.h"

#include "descriptor.h"
#include "dragoman/core/error.h"
#include "locking.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace dragoman::core {

std::optional<FileLock> FileLock::try_acquire(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const int error = errno;
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open to lock: {}; check the path and its permissions", path.string(),
          describe_error(error));
  FileLock lock(fd);
  if (!lock_exclusively(fd)) return std::nullopt;
  return lock;
}

FileLock FileLock::acquire(const std::filesystem::path& path) {
  std::optional<FileLock> lock = try_acquire(path);
  require(lock.has_value(), ErrorCode::kIo,
          "{}: another process is working on it; wait until it has ended, or name another place", path.string());
  return std::move(*lock);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace dragoman::core
