#pragma once

#include <filesystem>

namespace dragoman::imports {

/// Writes a small checkpoint and its dictionaries into an empty folder, for the conformance kit, and returns the
/// folder.
std::filesystem::path write_fairseq_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
