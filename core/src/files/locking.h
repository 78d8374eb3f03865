#pragma once

#include <sys/file.h>

#include <cerrno>

namespace dragoman::core {

/// Locks the file exclusively for this descriptor. Returns false if another descriptor holds a lock. Returns true on
/// file systems without locks.
inline bool lock_exclusively(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/// Locks the file for shared use. Returns false if another descriptor holds the lock of lock_exclusively().
inline bool lock_shared(int fd) {
  return ::flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

}  // namespace dragoman::core
