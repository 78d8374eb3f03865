#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::cli {

/// The files that the values of an option name. A value with *, ? or [ that is no file itself is a pattern, as shells
/// know it, and stands for the files that match, in the order of their names; one that matches nothing is an
/// Error{kIo}. "-" stays as it is.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& values);

/// An option that takes several words also takes input files that were meant to follow them. Throws UsageError if a
/// word after the first is the name of a file; the first belongs to the option in any case. `option` is spelled with
/// its dashes.
void refuse_taken_files(const std::string& option, const std::vector<std::string>& words);

}  // namespace dragoman::cli
