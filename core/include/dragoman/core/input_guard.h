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
/// - a file or folder that has the name of an input until it is complete: see require_no_temporary_name(), or
/// - "-", while standard output is appended to an input file.
///
/// The input "-" is the file at standard input, if that is a regular file. Empty inputs are ignored. Links count as
/// their targets.
void require_not_an_input(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

/// Throws Error{kInvalidArgument} if the input has a name that only exists until the output, a file or a folder, is
/// complete: `<output>.partial`, `.partial.job`, `.superseded` or `.replaced`. A file of that name is overwritten or
/// removed. Unlike require_not_an_input(), it allows an output that replaces its input.
void require_no_temporary_name(const std::filesystem::path& input, const std::filesystem::path& output);

}  // namespace dragoman::core
