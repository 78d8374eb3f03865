#pragma once

#include "test_data.h"

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace dragoman::testing {

struct Outcome {
  int status = 0;      ///< exit status; 128 + N if signal N ended it
  std::string output;  ///< standard output
  std::string error;   ///< standard error
};

inline std::string file_content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs the program in `folder` through the shell: arguments may hold redirections.
inline Outcome run_dragoman(const std::filesystem::path& folder, const std::string& arguments) {
  const std::string command =
      "cd '" + folder.string() + "' && '" DRAGOMAN_PROGRAM "' 2>stderr.txt >stdout.txt " + arguments;
  const int result = std::system(command.c_str());
  const int status = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  return {status, file_content(folder / "stdout.txt"), file_content(folder / "stderr.txt")};
}

}  // namespace dragoman::testing
