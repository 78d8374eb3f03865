#include "options/input_guard.h"

#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/file.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;

/// Model folders keep tokenizers of plugins in folders of their own.
constexpr int kDeepest = 1;

bool holds(const fs::path& folder, const std::string& file) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
    if (core::same_file(entry->path(), file)) return true;
  }
  return false;
}

}  // namespace

void require_not_an_input(const std::string& output, const std::vector<fs::path>& inputs) {
  std::error_code ignored;
  for (const fs::path& input : inputs) {
    if (input.empty()) continue;
    // What is appended to a file that is read would be read again; one that is empty is the shell's `> FILE`.
    if (output == "-" && core::same_file(input, "/proc/self/fd/1") && fs::file_size(input, ignored) > 0)
      throw UsageError(fmt::format("standard output is the input {}; write to another file", input.string()));
    if (core::same_file(input, output))
      throw UsageError(fmt::format("--output {}: is the input {}, which it would replace; name another output", output,
                                   input.string()));
    if (output != "-" && fs::is_directory(input, ignored) && holds(input, output))
      throw UsageError(
          fmt::format("--output {}: is a file of {}, which is read; name another output", output, input.string()));
  }
}

}  // namespace dragoman::cli
