#include "dragoman/core/input_guard.h"

#include "dragoman/core/error.h"
#include "dragoman/core/file.h"

#include <algorithm>

namespace dragoman::core {
namespace {

namespace fs = std::filesystem;

/// Returns whether `inner` exists and is below the folder `outer`.
bool lies_in(const fs::path& inner, const fs::path& outer) {
  std::error_code error;
  const fs::path whole = fs::canonical(inner, error);
  if (error) return false;
  const fs::path folder = fs::canonical(outer, error);
  if (error || !fs::is_directory(folder, error)) return false;
  return std::ranges::mismatch(folder, whole).in1 == folder.end() && whole != folder;
}

void require_not_appended_to(const fs::path& input) {
  std::error_code ignored;
  // An empty one is the shell's `> FILE`, which contains nothing that would be read again.
  const bool appended = same_file(input, "/proc/self/fd/1") && fs::file_size(input, ignored) > 0;
  require(!appended, ErrorCode::kInvalidArgument, "standard output is the input {}; write to another file",
          input.string());
}

}  // namespace

void require_not_an_input(const fs::path& output, const std::vector<fs::path>& inputs) {
  for (const fs::path& input : inputs) {
    if (input.empty() || input == "-") continue;
    if (output == "-") {
      require_not_appended_to(input);
      continue;
    }
    require(!same_file(input, output), ErrorCode::kInvalidArgument,
            "{}: is the input {}, which it would replace; name another output", output.string(), input.string());
    require(!lies_in(output, input), ErrorCode::kInvalidArgument, "{}: is in {}, which is read; name another output",
            output.string(), input.string());
    require(!lies_in(input, output), ErrorCode::kInvalidArgument,
            "{}: is a folder that holds the input {}; name another output", output.string(), input.string());
  }
}

}  // namespace dragoman::core
