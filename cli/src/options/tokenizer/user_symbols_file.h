#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// Appends the lines of --user-symbols-file without a CR before LF and without empty lines. Throws Error{kIo}, and
/// Error{kBadInput} naming file and line for an invalid symbol: one with a space, or invalid UTF-8.
void append_user_symbols(const std::filesystem::path& file, std::vector<std::string>& symbols);

}  // namespace dragoman::cli
