#include "dragoman/core/folder.h"

#include "descriptor.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/file_name.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace dragoman::core {
namespace {

namespace fs = std::filesystem;

fs::path with_suffix(const fs::path& folder, std::string_view suffix) {
  return folder.string() + std::string(suffix);
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// The folder that a name stands for at this moment.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};

std::optional<Identity> identity_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return Identity{status.st_dev, status.st_ino};
}

/// Rejects links, because an operation on a folder of this name must not change another folder.
void require_no_link(const fs::path& folder) {
  std::error_code ignored;
  require(!fs::is_symlink(folder, ignored), ErrorCode::kIo, "{}: is in the way: it is a link; remove it",
          folder.string());
}

bool is_empty_or_missing(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return true;
  const bool empty = fs::is_empty(folder, error);
  require(!error, ErrorCode::kIo, "{}: cannot list the folder: {}", folder.string(), error.message());
  return empty;
}

void rename_path(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  require(!error, ErrorCode::kIo, "{}: cannot rename to {}: {}", from.string(), to.string(), error.message());
}

/// Returns false if the file system does not support it.
bool exchange(const fs::path& a, const fs::path& b) {
  const int status = ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
  const int error = errno;
  require(status == 0 || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP, ErrorCode::kIo,
          "{}: cannot take the place of {}: {}", a.string(), b.string(), describe_error(error));
  return status == 0;
}

}  // namespace

fs::path resolve_folder(const fs::path& path) {
  require(!path.empty(), ErrorCode::kInvalidArgument, "the name of a folder is empty; name one");
  require_no_nul(path);
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  fs::path resolved = error ? fs::path() : fs::weakly_canonical(absolute, error);
  require(!error, ErrorCode::kIo, "{}: cannot be followed: {}", path.string(), error.message());
  if (!resolved.has_filename()) resolved = resolved.parent_path();
  require(resolved.has_filename(), ErrorCode::kInvalidArgument, "{}: nothing can take the place of this folder",
          path.string());
  return resolved;
}

std::vector<fs::path> list_folder(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return entries;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) entries.push_back(entry->path());
  require(!error, ErrorCode::kIo, "{}: cannot list the folder: {}", folder.string(), error.message());
  std::ranges::sort(entries);
  return entries;
}

bool make_folder(const fs::path& folder) {
  std::error_code error;
  const bool made = fs::create_directories(folder, error);
  require(!error, ErrorCode::kIo, "{}: cannot make the folder: {}", folder.string(), error.message());
  return made;
}

FileLock lock_folder(const fs::path& folder) {
  for (;;) {
    make_folder(folder);
    const std::optional<Identity> before = identity_of(folder);
    if (!before) continue;
    try {
      FileLock lock = FileLock::acquire(folder);
      if (identity_of(folder) == before) return lock;
    } catch (const Error&) {
      // The previous holder may have removed or renamed the folder before it could be opened.
      if (identity_of(folder) == before) throw;
    }
  }
}

void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  // A folder that is writable but not readable cannot be opened, and so cannot be synced.
  if (fd < 0 && error == EACCES) return;
  require(fd >= 0, ErrorCode::kIo, "{}: cannot open the folder: {}", folder.string(), describe_error(error));
  const int status = ::fsync(fd);
  error = errno;
  ::close(fd);
  require(status == 0 || error == EINVAL || error == EROFS, ErrorCode::kIo, "{}: cannot sync to disk: {}",
          folder.string(), describe_error(error));
}

void rename_durably(const fs::path& from, const fs::path& to) {
  rename_path(from, to);
  sync_folder(parent_of(to));
  if (parent_of(from) != parent_of(to)) sync_folder(parent_of(from));
}

fs::path unused_name(const fs::path& path) {
  fs::path name = path;
  std::error_code error;
  for (int i = 2; fs::symlink_status(name, error).type() != fs::file_type::not_found; ++i)
    name = fmt::format("{}-{}", path.string(), i);
  return name;
}

void remove_folder(const fs::path& folder) noexcept {
  try {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  } catch (const std::bad_alloc&) {
    // Destructors call this, so whatever cannot be removed stays.
  }
}

void recover_replaced(const fs::path& target, const FolderRemover& remove) {
  const fs::path replaced = with_suffix(target, kReplacedSuffix);
  require_no_link(replaced);
  if (!identity_of(replaced)) return;
  if (identity_of(target))
    remove(replaced);
  else
    rename_durably(replaced, target);
}

StagedFolder::StagedFolder(const fs::path& target, FolderRemover remove)
    : target_(resolve_folder(target)), staging_(with_suffix(target_, kPartialSuffix)), remove_(std::move(remove)) {
  require_no_link(staging_);
  if (identity_of(target_)) target_lock_ = FileLock::acquire(target_);
  lock_ = lock_empty();
  recover_replaced(target_, remove_);  // left by a killed process: a live one would hold the lock
  if (!target_lock_ && identity_of(target_)) target_lock_ = FileLock::acquire(target_);
}

StagedFolder::~StagedFolder() {
  if (!committed_) remove_(staging_);  // does not throw
}

FileLock StagedFolder::lock_empty() const {
  for (;;) {
    FileLock lock = lock_folder(staging_);
    if (is_empty_or_missing(staging_)) return lock;
    // The lock is free, so a killed process left it.
    remove_(staging_);
    require(is_empty_or_missing(staging_), ErrorCode::kIo,
            "{}: cannot be cleared away; look at what it holds and remove it", staging_.string());
    if (identity_of(staging_)) return lock;
  }
}

void StagedFolder::commit() {
  sync_folder(staging_);
  const fs::path replaced = put_in_place();
  committed_ = true;
  sync_folder(parent_of(target_));  // before the old content is removed: a power failure must not restore its name
  if (!replaced.empty()) remove_(replaced);
}

/// Moves `staging_` to `target_`. Returns the path of the old folder.
fs::path StagedFolder::put_in_place() {
  if (is_empty_or_missing(target_)) {
    rename_path(staging_, target_);
    return {};
  }
  if (exchange(staging_, target_)) return staging_;
  fs::path replaced = with_suffix(target_, kReplacedSuffix);
  rename_path(target_, replaced);
  try {
    rename_path(staging_, target_);
  } catch (...) {
    rename_path(replaced, target_);
    throw;
  }
  return replaced;
}

}  // namespace dragoman::core
