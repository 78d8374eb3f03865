#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// Appends the lines of --protect-file without a CR before LF and without empty lines. Throws Error{kIo}, and
/// Error{kBadInput} naming file and line for an invalid pattern.
void append_protected_patterns(const std::filesystem::path& file, std::vector<std::string>& patterns);

}  // namespace dragoman::cli
