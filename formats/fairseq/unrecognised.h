#pragma once

#include <filesystem>
#include <string>

namespace dragoman::imports {

/// Returns the reason why a torch file is not an importable fairseq checkpoint, or an empty string if the path is not a
/// torch file.
std::string why_no_fairseq(const std::filesystem::path& path);

}  // namespace dragoman::imports
