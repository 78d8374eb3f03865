#pragma once

#include <filesystem>

namespace dragoman::imports {

/// Writes a small BART model and adapters for it into an empty folder, for the conformance kit. Returns the folder of
/// the adapters.
std::filesystem::path write_peft_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
