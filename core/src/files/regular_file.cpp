#include "dragoman/core/regular_file.h"

#include "descriptor.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file_name.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include <fcntl.h>

namespace dragoman::core {

struct RegularFile::Impl {
  std::string path;
  Descriptor descriptor;
};

RegularFile::RegularFile(const std::filesystem::path& path) {
  require_no_nul(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const int error = errno;
  const std::string name = path.string();
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open for reading: {}; check the path and its permissions", name,
          describe_error(error));
  Descriptor descriptor(fd, true);
  struct stat status {};
  require(::fstat(fd, &status) == 0 && S_ISREG(status.st_mode), ErrorCode::kIo,
          "{}: is not a regular file but a folder, a pipe or a device; put a file there", name);
  impl_ = std::make_unique<Impl>(Impl{name, std::move(descriptor)});
}

RegularFile::~RegularFile() = default;
RegularFile::RegularFile(RegularFile&&) noexcept = default;
RegularFile& RegularFile::operator=(RegularFile&&) noexcept = default;

std::size_t RegularFile::read(std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const std::size_t got =
        read_some(impl_->descriptor.get(), buffer.data() + filled, buffer.size() - filled, impl_->path);
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

}  // namespace dragoman::core
