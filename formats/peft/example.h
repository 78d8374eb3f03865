#pragma once

#include <filesystem>

namespace dragoman::imports {

/// A small BART in an empty folder, and adapters of it, for the conformance kit; returns the folder of the adapters.
std::filesystem::path write_peft_example(const std::filesystem::path& folder);

}  // namespace dragoman::imports
