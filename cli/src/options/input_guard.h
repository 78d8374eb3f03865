#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// UsageError if core::require_not_an_input rejects the output that the option names. The program calls it for all
/// options (check_named_files). A command calls it for files that no option names, for example the files of a pattern.
void require_not_an_input(const std::string& output, const std::vector<std::filesystem::path>& inputs,
                          const std::string& option);

/// UsageError if the name of an output folder is given but empty.
void require_named(const char* option, const std::string& name);

}  // namespace dragoman::cli
