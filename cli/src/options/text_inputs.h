#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// Returns the files that the values of an option name. A value with *, ? or [ that is not a file is a shell pattern
/// for the matching files, in the order of their names. A pattern without a match is an Error{kIo}. "-" is unchanged.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& values);

/// Returns whether standard input is a pipe, a socket or a file, and not a terminal or a device. It is then the text of
/// a command whose input is not named. A batch system, which redirects standard input from /dev/null, gets the error
/// about the missing input instead of an empty result.
bool standard_input_is_piped();

/// An option with several words also takes input files that were intended to follow them. Throws UsageError if a word
/// after the first is the name of a file; the first always belongs to the option. `option` includes its dashes.
void refuse_taken_files(const std::string& option, const std::vector<std::string>& words);

}  // namespace dragoman::cli
