#pragma once

#include <array>
#include <filesystem>
#include <string_view>

#include <dragoman/core/folder.h>

namespace dragoman::formats {

/// Every file that a model folder may hold.
inline constexpr std::array<std::string_view, 7> kModelFiles{
    "config.json",           "model.safetensors", "tokenizer.json", "source.tokenizer.json",
    "target.tokenizer.json", "README.md",         "SHA256SUMS"};

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
