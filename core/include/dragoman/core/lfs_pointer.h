#pragma once

#include <string>
#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::core {

/// Returns whether the content is a Git LFS pointer, which replaces a file that was not fetched (git-lfs, docs/spec.md:
/// fewer than 1024 bytes).
inline bool is_lfs_pointer(std::string_view content) noexcept {
  return content.size() < 1024 && content.starts_with("version https://git-lfs.github.com/spec/");
}

/// Throws Error{kBadInput} if the content is a Git LFS pointer.
inline void require_no_lfs_pointer(std::string_view content, const std::string& name) {
  if (is_lfs_pointer(content))
    fail(ErrorCode::kBadInput,
         "{}: is a Git LFS pointer, not the file itself; fetch that in its repository: git lfs pull", name);
}

}  // namespace dragoman::core
