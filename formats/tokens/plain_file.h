#pragma once

#include <filesystem>

#include <dragoman/core/error.h>

namespace dragoman::imports {

/// Returns whether the path is a regular file, or a link to one.
inline bool is_file(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored);
}

/// Returns whether an optional file exists. Throws Error{kBadInput} for anything else of that name, such as a folder or
/// a broken link, which would otherwise be ignored silently.
inline bool is_file_if_there(const std::filesystem::path& file) {
  std::error_code ignored;
  if (is_file(file)) return true;
  core::require(std::filesystem::symlink_status(file, ignored).type() == std::filesystem::file_type::not_found,
                core::ErrorCode::kBadInput,
                "{}: is no file, but a folder, a pipe, or a link that leads nowhere; put the file there",
                file.string());
  return false;
}

}  // namespace dragoman::imports
