#pragma once

#include <filesystem>
#include <vector>

namespace dragoman::core {

/// Error{kInvalidArgument} if the output is one of the files or folders that are read, or something that is there in
/// such a folder, or a folder that holds one: it would be replaced by what is made of it. Or if the output is "-" and
/// standard output is appended to such a file. Inputs that are empty or "-" are none; links count as what they lead to.
void require_not_an_input(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

}  // namespace dragoman::core
