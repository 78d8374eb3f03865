#include "dragoman/formats/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/lfs_pointer.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;

std::span<const std::byte> map(int fd, const std::string& name) {
  struct stat status {};
  core::require(::fstat(fd, &status) == 0, ErrorCode::kIo, "{}: cannot examine: {}", name, std::strerror(errno));
  core::require(S_ISREG(status.st_mode), ErrorCode::kIo,
                "{}: is not a regular file, so it cannot be mapped; copy it to one", name);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  core::require(data != MAP_FAILED, ErrorCode::kIo, "{}: cannot map {} bytes: {}", name, size, std::strerror(errno));
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer before it could be refused.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  core::require(fd >= 0, ErrorCode::kIo, "{}: cannot open for reading: {}; check the path and its permissions",
                path.string(), std::strerror(errno));
  try {
    bytes_ = map(fd, path.string());
    core::require_no_lfs_pointer({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}, path.string());
  } catch (...) {
    ::close(fd);
    unmap();
    throw;
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  unmap();
}

void MappedFile::unmap() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void release_pages(const void* data, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace dragoman::formats
