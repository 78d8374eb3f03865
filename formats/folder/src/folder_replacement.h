#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <dragoman/core/folder.h>

namespace dragoman::formats {

/// Specifies whether a new folder gets SHA256SUMS.
enum class FolderSums : std::uint8_t { kWritten, kNone };

/// A model folder under construction, which replaces `target` atomically. Every writer of model folders uses it.
class FolderReplacement {
 public:
  /// Creates the empty folder `<target>.partial` and locks it. Removes the remains of a killed process. Throws like
  /// require_replaceable(), and Error{kIo} if another process is writing it.
  explicit FolderReplacement(const std::filesystem::path& target);

  const std::filesystem::path& folder() const noexcept { return staged_.folder(); }
  /// Copies a file to the folder under its own name, byte for byte. Throws Error{kIo} if it is not a regular file.
  void add_copy(const std::filesystem::path& file);
  /// Requires that the weights are finite, writes SHA256SUMS, syncs the folder, exchanges the names, and removes the
  /// old folder. Sums certify weights, so no writer can omit the check. `weights_from` is the name of the source of the
  /// weights in messages.
  void commit(const std::string& weights_from, FolderSums sums = FolderSums::kWritten);

 private:
  core::StagedFolder staged_;
};

}  // namespace dragoman::formats
