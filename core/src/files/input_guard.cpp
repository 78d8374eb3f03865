#include "dragoman/core/input_guard.h"

#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/folder.h"
#include "dragoman/core/publish_together.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dragoman::core {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStandardInput = "/proc/self/fd/0";
constexpr const char* kStandardOutput = "/proc/self/fd/1";

/// Returns whether `inner` is below the folder `outer`, whether it exists or not.
bool lies_in(const fs::path& inner, const fs::path& outer) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(inner, error), error);
  if (error) return false;
  const fs::path folder = fs::canonical(outer, error);
  if (error || !fs::is_directory(folder, error)) return false;
  return std::ranges::mismatch(folder, whole).in1 == folder.end() && whole != folder;
}

/// Follows links, also to a file that does not exist yet.
fs::path target_of(fs::path path) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  std::error_code error;
  for (int links = 0; links < kMaxLinks && fs::is_symlink(path, error); ++links) {
    const fs::path next = fs::read_symlink(path, error);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

void require_no_temporary_name(const fs::path& input, const std::string& name, const fs::path& output) {
  fs::path target = target_of(output);
  if (!target.has_filename()) target = target.parent_path();  // for "name/"
  const std::string job = std::string(kPartialSuffix) + std::string(kJobSuffix);
  for (const std::string_view suffix : {kPartialSuffix, std::string_view(job), kSupersededSuffix, kReplacedSuffix})
    require(!same_file(input, target.string() + std::string(suffix)), ErrorCode::kInvalidArgument,
            "{}: until it is complete, a file or folder has the name of the input {}; name another output",
            output.string(), name);
}

void require_not_appended_to(const fs::path& input, const std::string& name) {
  std::error_code ignored;
  // An empty one is the shell's `> FILE`, which contains nothing that would be read again.
  const bool appended = same_file(input, kStandardOutput) && fs::file_size(input, ignored) > 0;
  require(!appended, ErrorCode::kInvalidArgument, "standard output is the input {}; write to another file", name);
}

void require_other_file(const fs::path& output, const fs::path& input, const std::string& name) {
  if (output == "-") return require_not_appended_to(input, name);
  require(!same_file(input, output), ErrorCode::kInvalidArgument,
          "{}: is the input {}, which it would replace; name another output", output.string(), name);
  require_no_temporary_name(input, name, output);
}

}  // namespace

void require_no_temporary_name(const fs::path& input, const fs::path& output) {
  require_no_temporary_name(input, input.string(), output);
}

void require_not_an_input(const fs::path& output, const std::vector<fs::path>& inputs) {
  for (const fs::path& input : inputs) {
    std::error_code ignored;
    if (input == "-" && fs::is_regular_file(kStandardInput, ignored))
      require_other_file(output, kStandardInput, "on standard input");
    if (input.empty() || input == "-") continue;
    require_other_file(output, input, input.string());
    if (output == "-") continue;
    require(!lies_in(output, input), ErrorCode::kInvalidArgument, "{}: is in {}, which is read; name another output",
            output.string(), input.string());
    require(!lies_in(input, output), ErrorCode::kInvalidArgument,
            "{}: is a folder that holds the input {}; name another output", output.string(), input.string());
  }
}

}  // namespace dragoman::core
