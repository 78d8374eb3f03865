#pragma once

#include <filesystem>

#include <dragoman/core/folder.h>

namespace dragoman::formats {

/// A model folder under construction, which replaces `target` atomically.
class FolderReplacement {
 public:
  /// Creates the empty folder `<target>.partial` and locks it. Removes the remains of a killed process. Throws like
  /// require_replaceable(), and Error{kIo} if another process is writing it.
  explicit FolderReplacement(const std::filesystem::path& target);

  const std::filesystem::path& folder() const noexcept { return staged_.folder(); }
  /// Syncs the folder, exchanges the names, and removes the old folder.
  void commit() { staged_.commit(); }

 private:
  core::StagedFolder staged_;
};

}  // namespace dragoman::formats
