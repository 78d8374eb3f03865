#pragma once

#include <filesystem>

#include <dragoman/core/folder.h>

namespace dragoman::formats {

/// A model folder in the making, which takes the place of `target` all at once.
class FolderReplacement {
 public:
  /// Makes the empty folder `<target>.partial`, locked; what a killed process left there is removed. Throws as
  /// require_replaceable() does, and Error{kIo} if another process is at work on it.
  explicit FolderReplacement(const std::filesystem::path& target);

  const std::filesystem::path& folder() const noexcept { return staged_.folder(); }
  /// Syncs, exchanges the names, and removes the old folder.
  void commit() { staged_.commit(); }

 private:
  core::StagedFolder staged_;
};

}  // namespace dragoman::formats
