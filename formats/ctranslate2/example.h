#pragma once

#include <filesystem>

namespace dragoman::imports {

/// Writes a small CTranslate2 model into an empty folder and returns the folder.
std::filesystem::path write_ctranslate2_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
