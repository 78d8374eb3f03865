#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// UsageError where core::require_not_an_input refuses the output.
void require_not_an_input(const std::string& output, const std::vector<std::filesystem::path>& inputs);

/// UsageError where the name of a folder that is to be written is given and empty.
void require_named(const char* option, const std::string& name);

}  // namespace dragoman::cli
