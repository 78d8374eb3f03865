#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// UsageError if the output is one of the files that are read, or a file of a folder that is: it would be replaced by
/// what is made of it. Or if the output is "-" and is appended to such a file. Inputs that are empty or "-" are
/// none; links count as what they lead to.
void require_not_an_input(const std::string& output, const std::vector<std::filesystem::path>& inputs);

}  // namespace dragoman::cli
