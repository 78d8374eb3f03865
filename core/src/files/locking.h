#pragma once

#include <sys/file.h>

#include <cerrno>

namespace dragoman::core {

/// Whether the open file is now locked for its descriptor alone; also true where the file system knows no locks.
inline bool lock_exclusively(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/// False if somebody else holds the lock of lock_exclusively().
inline bool lock_shared(int fd) {
  return ::flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

}  // namespace dragoman::core
