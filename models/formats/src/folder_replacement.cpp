#include "folder_replacement.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <dragoman/core/error.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using std::filesystem::path;

path with_suffix(const path& folder, const char* suffix) {
  return folder.string() + suffix;
}

/// Absolute and without links, so that the sibling lies on the same file system and a link keeps pointing where it did.
path resolved(const path& folder) {
  std::error_code error;
  path result = std::filesystem::weakly_canonical(std::filesystem::absolute(folder), error);
  core::require(!error, ErrorCode::kIo, "{}: cannot resolve: {}", folder.string(), error.message());
  if (!result.has_filename()) result = result.parent_path();
  core::require(result.has_filename(), ErrorCode::kInvalidArgument, "{}: a model cannot take the place of this folder",
                folder.string());
  return result;
}

bool is_model_file(const std::filesystem::directory_entry& entry) {
  std::string name = entry.path().filename().string();
  if (name.ends_with(".partial")) name.resize(name.size() - std::string_view(".partial").size());
  return entry.is_regular_file() && std::find(kModelFiles.begin(), kModelFiles.end(), name) != kModelFiles.end();
}

void require_nothing_foreign(const path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return;
  core::require(std::filesystem::is_directory(folder), ErrorCode::kInvalidArgument,
                "{}: is a file; name a folder for the model", folder.string());
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    core::require(is_model_file(entry), ErrorCode::kInvalidArgument,
                  "{}: holds '{}', which is not part of a model and would be lost; name another folder",
                  folder.string(), entry.path().filename().string());
}

/// Removes the files of a model, then the folder if nothing else is in it.
void remove_model(const path& folder) noexcept {
  std::error_code ignored;
  for (const std::string_view name : kModelFiles) {
    std::filesystem::remove(folder / name, ignored);
    std::filesystem::remove(folder / (std::string(name) + ".partial"), ignored);
  }
  std::filesystem::remove(folder, ignored);
}

void sync_folder(const path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);  // Some file systems cannot sync a folder; the rename is atomic all the same.
  ::close(fd);
}

void rename_folder(const path& from, const path& to) {
  core::require(std::rename(from.c_str(), to.c_str()) == 0, ErrorCode::kIo, "{}: cannot rename to {}: {}",
                from.string(), to.string(), std::strerror(errno));
}

bool exchange(const path& a, const path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

/// Afterwards `staging` does not exist and `target` is what it was.
void put_in_place(const path& staging, const path& target) {
  if (!std::filesystem::exists(target) || std::filesystem::is_empty(target)) {
    rename_folder(staging, target);
  } else if (exchange(staging, target)) {
    remove_model(staging);
  } else {
    const path old = with_suffix(target, ".old");
    rename_folder(target, old);
    rename_folder(staging, target);
    remove_model(old);
  }
}

}  // namespace

FolderReplacement::FolderReplacement(const path& target)
    : target_(resolved(target)), staging_(with_suffix(target_, ".partial")) {
  require_nothing_foreign(target_);
  require_nothing_foreign(staging_);
  remove_model(staging_);
  std::error_code error;
  std::filesystem::create_directories(staging_, error);
  core::require(!error, ErrorCode::kIo, "{}: cannot make the folder: {}", staging_.string(), error.message());
}

FolderReplacement::~FolderReplacement() {
  if (!committed_) remove_model(staging_);
}

void FolderReplacement::commit() {
  sync_folder(staging_);
  put_in_place(staging_, target_);
  committed_ = true;
  sync_folder(target_.parent_path());
}

}  // namespace dragoman::formats
