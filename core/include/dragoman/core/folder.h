#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <dragoman/core/file_lock.h>

namespace dragoman::core {

/// The path without links, "." and "..", absolute and without a slash at its end; it need not exist. Error{kIo} if it
/// cannot be followed, Error{kInvalidArgument} for the root folder, whose place nothing can take.
std::filesystem::path resolve_folder(const std::filesystem::path& path);

/// What is in the folder, sorted by name. Error{kIo} if it cannot be listed, whenever that shows; a folder that is not
/// there counts as empty.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

/// Makes the folder and those above it; true if it was not there. Error{kIo}.
bool make_folder(const std::filesystem::path& folder);

/// Locks the folder, which is made if it is not there. What is locked is the folder of this name, not one that was
/// renamed or removed meanwhile. Error{kIo} if somebody else holds it.
FileLock lock_folder(const std::filesystem::path& folder);

/// Writes the folder's entries to disk, where the file system can. Error{kIo}.
void sync_folder(const std::filesystem::path& folder);

/// Gives `from` the name `to`, for good: the folders of both are on disk afterwards. Error{kIo}.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// The first of `path`, `path`-2, `path`-3, ... that does not exist.
std::filesystem::path unused_name(const std::filesystem::path& path);

/// Removes a folder with all that it holds, as far as that is possible.
void remove_folder(const std::filesystem::path& folder) noexcept;

/// Removes a folder that has had its day, and throws nothing.
using FolderRemover = std::function<void(const std::filesystem::path&)>;

/// What a folder is called for an instant while another takes its place, on a file system that cannot exchange two
/// names.
inline constexpr std::string_view kReplacedSuffix = ".replaced";

/// Gives `<target>.replaced`, which a process that was killed at that instant left, its name again, or removes it if
/// there is a `target`. For who has locked what such a process would have locked. Error{kIo}.
void recover_replaced(const std::filesystem::path& target, const FolderRemover& remove = remove_folder);

/// Error{kInvalidArgument} if `input` is what the making of `output`, a file or a folder, would clear away:
/// `<output>.partial` or `<output>.replaced`.
void require_not_in_the_way(const std::filesystem::path& input, const std::filesystem::path& output);

/// A folder in the making: `<target>.partial`, which takes the place of `target` all at once at commit(). A process
/// that is killed leaves the old folder or the new one; if that was under the name `<target>.replaced`, the next one
/// gives it back its name.
///
/// Both folders are locked: a second process with the same target is refused, and what a killed one left is cleared
/// away. One thread at a time.
class StagedFolder {
 public:
  /// Makes the empty folder. Error{kIo} if somebody else is at work on it, or if `remove` leaves something in it.
  explicit StagedFolder(const std::filesystem::path& target, FolderRemover remove = remove_folder);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  /// Removes the folder unless commit() was reached.
  ~StagedFolder();

  /// Where to write until commit().
  const std::filesystem::path& folder() const noexcept { return staging_; }
  /// Syncs, exchanges the names, and removes what `target` held. The files must be on disk already, as those of an
  /// OutputFile are.
  void commit();

 private:
  FileLock lock_empty() const;
  std::filesystem::path put_in_place();

  std::filesystem::path target_;
  std::filesystem::path staging_;
  FolderRemover remove_;
  std::optional<FileLock> target_lock_;
  std::optional<FileLock> lock_;
  bool committed_ = false;
};

}  // namespace dragoman::core
