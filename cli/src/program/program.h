#pragma once

#include <string>
#include <vector>

namespace dragoman::cli {

/// Runs the command line (without the program's name) and returns the exit status: 0 done, 1 failed, 2 wrong usage, 130
/// interrupted.
int run_program(const std::vector<std::string>& arguments);

}  // namespace dragoman::cli
