#pragma once

#include <filesystem>

namespace dragoman::core {

/// Throws Error{kInvalidArgument} if the path contains U+0000. YAML and JSON can spell this character, but system calls
/// end the name there and would open another file than the one that was checked.
void require_no_nul(const std::filesystem::path& path);

}  // namespace dragoman::core
