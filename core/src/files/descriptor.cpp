#include "descriptor.h"

#include "dragoman/core/default_stop.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/file_name.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace dragoman::core {

std::stop_token stop_or_default(std::stop_token given) {
  return given.stop_possible() ? std::move(given) : default_stop();
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), owned_(other.owned_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(owned_, other.owned_);
  return *this;
}

int Descriptor::close() noexcept {
  const int fd = std::exchange(fd_, -1);
  return owned_ && fd >= 0 && ::close(fd) != 0 ? errno : 0;
}

std::size_t read_some(int fd, char* data, std::size_t size, const std::string& name) {
  for (;;) {
    const ssize_t got = ::read(fd, data, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    const int error = errno;
    require(error == EINTR, ErrorCode::kIo, "{}: cannot read: {}", name, describe_error(error));
  }
}

bool still_called(const std::string& path, int fd) noexcept {
  struct stat by_name {};
  struct stat opened {};
  return ::lstat(path.c_str(), &by_name) == 0 && ::fstat(fd, &opened) == 0 && by_name.st_dev == opened.st_dev &&
         by_name.st_ino == opened.st_ino;
}

std::string describe_error(int error) {
  return std::generic_category().message(error);
}

void require_no_nul(const std::filesystem::path& path) {
  const std::string& name = path.native();
  require(name.find('\0') == std::string::npos, ErrorCode::kInvalidArgument,
          "{}: a name of a file cannot hold the character U+0000; write another name", name);
}

}  // namespace dragoman::core
