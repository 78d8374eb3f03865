#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <dragoman/core/file_lock.h>

namespace dragoman::core {

/// Returns the absolute path without links, "." and "..", and without a trailing slash. The folder need not exist.
/// Throws Error{kIo} if the path cannot be followed, and Error{kInvalidArgument} for the root folder, which cannot be
/// replaced.
std::filesystem::path resolve_folder(const std::filesystem::path& path);

/// Returns the entries of a folder, sorted by name. A folder that does not exist counts as empty. Throws Error{kIo} if
/// listing fails, even part of the way through.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

/// Creates the folder and its parents. Returns whether it did not exist before. Throws Error{kIo}.
bool make_folder(const std::filesystem::path& folder);

/// Locks the folder, and creates it if necessary. The lock holds for the folder that has this name afterwards, not for
/// one that was renamed or removed in the meantime. Throws Error{kIo} if it is locked already.
FileLock lock_folder(const std::filesystem::path& folder);

/// Writes the folder's entries to disk, if the file system supports it. Throws Error{kIo}.
void sync_folder(const std::filesystem::path& folder);

/// Renames `from` to `to` and syncs the parent folders of both. Throws Error{kIo}.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Returns the first of `path`, `path`-2, `path`-3, ... that does not exist.
std::filesystem::path unused_name(const std::filesystem::path& path);

/// Removes a folder and its contents, as far as possible.
void remove_folder(const std::filesystem::path& folder) noexcept;

/// Removes a folder that is no longer needed. Must not throw.
using FolderRemover = std::function<void(const std::filesystem::path&)>;

/// The suffix of the old folder while another takes its place, on a file system that cannot exchange two names.
inline constexpr std::string_view kReplacedSuffix = ".replaced";

/// Cleans up after a process that was killed during a replacement: renames `<target>.replaced` back to `target`, or
/// removes it if `target` exists. The caller must have locked what that process would have locked. Throws Error{kIo}.
void recover_replaced(const std::filesystem::path& target, const FolderRemover& remove = remove_folder);

/// A folder under construction, `<target>.partial`, that replaces `target` atomically at commit().
///
///     StagedFolder staged("models/de-en");
///     write_file(staged.folder() / "README.md", "A model.\n");     // file.h
///     staged.commit();
///
/// A process that is killed leaves either the old folder or the new one. If the old one is left as `<target>.replaced`,
/// the next StagedFolder for this target renames it back.
///
/// Both folders are locked: a second process with the same target gets an error, and the remains of a killed process
/// are removed. An object may be used by one thread at a time.
class StagedFolder {
 public:
  /// Creates the empty folder. Throws Error{kIo} if it is in use, or if `remove` leaves something in it.
  explicit StagedFolder(const std::filesystem::path& target, FolderRemover remove = remove_folder);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  /// Removes the folder unless commit() has succeeded.
  ~StagedFolder();

  /// Returns the folder to write to until commit().
  const std::filesystem::path& folder() const noexcept { return staging_; }
  /// Syncs the folder, exchanges the names, and removes the old content of `target`. The files must be on disk already,
  /// as they are after OutputFile::commit().
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
