#include "own_file.h"

#include "dragoman/core/error.h"
#include "dragoman/core/stop_scope.h"
#include "locking.h"

#include <sys/stat.h>

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace dragoman::core {
namespace {

void require_own(int fd, const std::string& path) {
  struct stat status {};
  const bool own =
      ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1 && status.st_uid == ::geteuid();
  require(own, ErrorCode::kIo,
          "{}: is in the way: it is no plain file of yours that an interrupted run could have left; remove it", path);
}

/// Writes the data to the disk in parts, between which a stop can end it. A single fsync() of a large file takes
/// seconds, but is needed afterwards: it writes the size of the file, and reports errors.
void sync_in_parts(int fd) {
  constexpr off_t kAtOnce = off_t{1} << 22;
  constexpr auto kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const off_t size = ::lseek(fd, 0, SEEK_CUR);
  for (off_t at = 0; at < size; at += kAtOnce) {
    check_stop("writing a file");
    if (::sync_file_range(fd, at, kAtOnce, kAll) != 0) return;
  }
}

}  // namespace

Descriptor open_own_file(const std::string& path, bool& existed) {
  for (;;) {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    int error = errno;
    existed = fd < 0 && error == EEXIST;
    if (existed) {
      fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
      error = errno;
      if (fd < 0 && error == ENOENT) continue;
      require(fd >= 0 || error != ELOOP, ErrorCode::kIo, "{}: is in the way: it is a link; remove it", path);
    }
    require(fd >= 0, ErrorCode::kIo, "{}: cannot open for writing: {}; check that the folder exists and is writable",
            path, describe_error(error));
    Descriptor descriptor(fd, true);
    require_own(fd, path);
    require(lock_exclusively(fd), ErrorCode::kIo,
            "{}: is in use: another process is writing it, or it is this command's own input; wait, or name another "
            "output",
            path);
    if (still_called(path, fd)) return descriptor;
  }
}

void sync_own_file(int fd, const std::string& path, bool may_stop) {
  if (may_stop && StopScope::current().stop_possible()) sync_in_parts(fd);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  require(error == 0 || error == EINVAL || error == EROFS, ErrorCode::kIo, "{}: cannot sync to disk: {}", path,
          describe_error(error));
}

}  // namespace dragoman::core
