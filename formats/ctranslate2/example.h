#pragma once

#include <filesystem>

namespace dragoman::imports {

/// Writes a small model of CTranslate2 into an empty folder, and returns the folder.
std::filesystem::path write_ctranslate2_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
