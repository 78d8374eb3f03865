#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// Appends the lines of --user-symbols-file; a CR before LF is not part of a line, and empty lines are passed over.
/// Throws Error{kIo}, and Error{kBadInput} that names file and line for what no symbol can be: one with a space in it,
/// or not UTF-8.
void append_user_symbols(const std::filesystem::path& file, std::vector<std::string>& symbols);

}  // namespace dragoman::cli
