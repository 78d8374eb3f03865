#pragma once

#include <filesystem>

#include <dragoman/core/error.h>

namespace dragoman::imports {

/// A regular file, or a link to one.
inline bool is_file(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored);
}

/// The same of a file that a folder may lack; Error{kBadInput} for anything else of that name, which would be ignored
/// in silence: a folder, or a link to nothing.
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
