#include "run/run_log.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

/// Returns the complete lines of the file, at most `most`.
std::vector<std::string> first_lines(const std::filesystem::path& path, std::uint64_t most) {
  std::vector<std::string> lines;
  std::error_code ignored;
  if (most == 0 || !std::filesystem::exists(path, ignored)) return lines;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;  // millions of lines
  const std::string text = core::read_regular_file(path, kLargest);
  for (std::size_t begin = 0; lines.size() < most;) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a killed process left an incomplete line
    lines.push_back(text.substr(begin, end + 1 - begin));
    begin = end + 1;
  }
  return lines;
}

/// Returns whether the line belongs to an update after `update`.
bool is_later(const std::string& line, std::int64_t update) {
  const core::Json json = core::try_parse_json(line).tree;
  return json.is_object() && json.contains("update") && json["update"].is_number_integer() && json["update"] > update;
}

bool is_of(const std::string& line, std::int64_t update) {
  const core::Json json = core::try_parse_json(line).tree;
  return json.is_object() && json.contains("update") && json["update"] == update;
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& path, std::uint64_t lines, std::int64_t update) {
  std::vector<std::string> kept = first_lines(path, lines);
  // If a file lost lines before the end of the checkpoint, the first lines may include later ones.
  if (kept.size() < lines) std::erase_if(kept, [&](const std::string& line) { return is_later(line, update); });
  std::string text;
  for (const std::string& line : kept) text += line;
  core::write_file(path, text);
  lines_ = kept.size();
  kept_of_update_ = static_cast<std::uint64_t>(
      std::ranges::count_if(kept, [&](const std::string& line) { return is_of(line, update); }));
  file_.emplace(path, core::AppendFile::Start::kExisting);
}

void RunLog::append(const core::Json& line) {
  file_->append(core::one_line(line) + "\n");
  ++lines_;
}

}  // namespace dragoman::training
