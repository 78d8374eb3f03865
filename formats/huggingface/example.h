#pragma once

#include <filesystem>

namespace dragoman::imports {

/// A small BART in an empty folder, for the conformance kit; returns the folder.
std::filesystem::path write_huggingface_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
