#include "scratch_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <dragoman/core/error.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;

/// Opens a file that is deleted when it is closed.
int open_nameless(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Some file systems do not support unnamed files.
  std::string name = folder + "/.dragoman-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

ScratchFile::ScratchFile(const std::filesystem::path& folder, std::size_t bytes) {
  if (bytes == 0) return;
  const std::string name = folder.empty() ? "." : folder.string();
  const int fd = open_nameless(name);
  core::require(fd >= 0, ErrorCode::kIo, "{}: cannot make a temporary file there: {}", name, std::strerror(errno));
  // Allocates the space now: writing a page for which the disk has no space would terminate the process.
  const int failed = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* const data = failed != 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int reason = failed != 0 ? failed : errno;
  ::close(fd);
  core::require(data != MAP_FAILED, ErrorCode::kIo, "{}: no room for a temporary file of {} bytes: {}", name, bytes,
                std::strerror(reason));
  bytes_ = {static_cast<std::byte*>(data), bytes};
}

ScratchFile::~ScratchFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace dragoman::formats
