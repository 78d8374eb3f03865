#pragma once

#include <filesystem>

namespace dragoman::imports {

/// Writes a small Marian model with its vocabulary into an empty folder and returns the folder.
std::filesystem::path write_marian_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
