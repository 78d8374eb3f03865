#include "output_target.h"

#include "descriptor.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file_name.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>

#include <unistd.h>

namespace dragoman::core {
namespace {

namespace fs = std::filesystem;

/// Returns N if the path is this process's /proc/<pid>/fd/N, in any spelling; otherwise -1.
int open_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : fs::path("."), error);
  if (error || folder != fs::path("/proc") / std::to_string(::getpid()) / "fd") return -1;
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  return failure == std::errc{} && end == name.data() + name.size() ? number : -1;
}

OutputTarget classify(const fs::path& path, const struct stat& status) {
  OutputTarget target{.path = path};
  require(!S_ISDIR(status.st_mode), ErrorCode::kIo, "{}: is a directory; name a file to write", path.string());
  if (!S_ISREG(status.st_mode)) {
    target.kind = OutputTarget::Kind::kDirect;
    target.named_pipe = S_ISFIFO(status.st_mode);
    return target;
  }
  const bool writable = ::access(path.c_str(), W_OK) == 0;
  const int error = errno;
  require(writable, ErrorCode::kIo, "{}: cannot be replaced: {}; name another file, or change its permissions",
          path.string(), describe_error(error));
  target.existing = {status.st_mode & 07777U, status.st_uid, status.st_gid};
  return target;
}

}  // namespace

OutputTarget resolve_output(const fs::path& given) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  require(!given.empty(), ErrorCode::kInvalidArgument, "the name of an output is empty; is a variable not set?");
  require_no_nul(given);
  fs::path path = given;
  for (int links = 0; links <= kMaxLinks; ++links) {
    if (const int number = open_descriptor(path); number >= 0)
      return {.kind = OutputTarget::Kind::kDescriptor, .path = path, .descriptor = number};
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {.path = path};
    if (!S_ISLNK(status.st_mode)) return classify(path, status);
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    require(!error, ErrorCode::kIo, "{}: cannot read this link: {}", path.string(), error.message());
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  fail(ErrorCode::kIo, "{}: too many links lead on from here; name the file itself", given.string());
}

}  // namespace dragoman::core
