#include "dragoman/core/append_file.h"

#include "descriptor.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file_name.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace dragoman::core {

struct AppendFile::Impl {
  std::string path;
  Descriptor descriptor;
};

AppendFile::AppendFile(const std::filesystem::path& path, Start start) {
  require_no_nul(path);
  const int how = start == Start::kNew ? O_CREAT | O_EXCL : O_NONBLOCK;
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | how, 0666);
  const int error = errno;
  const std::string name = path.string();
  require(fd >= 0 || error != ELOOP, ErrorCode::kIo, "{}: is in the way: it is a link; remove it", name);
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open for writing: {}", name, describe_error(error));
  Descriptor descriptor(fd, true);
  struct stat status {};
  require(::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1, ErrorCode::kIo,
          "{}: is in the way: it is a pipe, a device, or a file that has another name; remove it", name);
  impl_ = std::make_unique<Impl>(Impl{name, std::move(descriptor)});
}

AppendFile::~AppendFile() = default;
AppendFile::AppendFile(AppendFile&&) noexcept = default;
AppendFile& AppendFile::operator=(AppendFile&&) noexcept = default;

void AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(impl_->descriptor.get(), bytes.data(), bytes.size());
    const int error = errno;
    require(written >= 0 || error == EINTR, ErrorCode::kIo, "{}: cannot write: {}; is the disk full?", impl_->path,
            describe_error(error));
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace dragoman::core
