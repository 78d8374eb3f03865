#pragma once

#include <filesystem>

namespace dragoman::imports {

/// A small checkpoint and its dictionaries in an empty folder, for the conformance kit; returns the folder.
std::filesystem::path write_fairseq_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
