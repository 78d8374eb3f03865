#pragma once

#include <filesystem>
#include <vector>

namespace dragoman::core {

/// Throws Error{kInvalidArgument} if writing `output` would replace one of the inputs. This is the case if the output
/// is
///
/// - an input file or folder,
/// - an existing entry of an input folder,
/// - a folder that contains an input, or
/// - "-", while standard output is appended to an input file.
///
/// Inputs that are empty or "-" are ignored. Links count as their targets.
void require_not_an_input(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

}  // namespace dragoman::core
