#pragma once

#include <filesystem>

namespace dragoman::imports {

/// Writes a small BART model into an empty folder, for the conformance kit, and returns the folder.
std::filesystem::path write_huggingface_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
