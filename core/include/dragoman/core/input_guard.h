#pragma once

#include <filesystem>
#include <vector>

namespace dragoman::core {

/// Throws Error{kInvalidArgument} if writing `output` would replace one of the inputs. This is the case if the output
/// is
///
/// - an input file or folder,
/// - a name in an input folder,
/// - a folder that contains an input,
/// - a file that has the name of an input until it is complete (`.partial` and others), or
/// - "-", while standard output is appended to an input file.
///
/// The input "-" is the file at standard input, if that is a regular file. Empty inputs are ignored. Links count as
/// their targets.
void require_not_an_input(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

}  // namespace dragoman::core
