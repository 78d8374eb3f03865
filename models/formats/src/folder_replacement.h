#pragma once

#include <array>
#include <filesystem>
#include <string_view>

namespace dragoman::formats {

/// Every file that a model folder may hold.
inline constexpr std::array<std::string_view, 7> kModelFiles{
    "config.json",           "model.safetensors", "tokenizer.json", "source.tokenizer.json",
    "target.tokenizer.json", "README.md",         "SHA256SUMS"};

/// A model folder in the making, which takes the place of `target` all at once.
class FolderReplacement {
 public:
  /// Makes the empty folder `<target>.partial`; what a killed process left there is removed. Throws
  /// Error{kInvalidArgument} if `target` exists and holds anything that is not of a model.
  explicit FolderReplacement(const std::filesystem::path& target);
  FolderReplacement(const FolderReplacement&) = delete;
  FolderReplacement& operator=(const FolderReplacement&) = delete;
  /// Removes the folder unless commit() was reached.
  ~FolderReplacement();

  const std::filesystem::path& folder() const noexcept { return staging_; }
  /// Syncs, exchanges the names, and removes the old folder.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path staging_;
  bool committed_ = false;
};

}  // namespace dragoman::formats
