#include "text.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/utf8.h>
#include <dragoman/evaluation/text_file.h>

namespace dragoman::evaluation {
namespace {

/// Reads a line without trailing whitespace. Returns false at the end of the file.
bool next_line(core::LineReader& reader, std::string& line) {
  if (!reader.next(line)) return false;
  core::replace_invalid_utf8(line);
  line.resize(trim_right(line).size());
  return true;
}

void require_lines(bool any, const std::string& name) {
  core::require(any, core::ErrorCode::kBadInput, "{}: the file is empty, there is nothing to evaluate", name);
}

void require_parallel(const std::string& hypothesis, std::uint64_t lines, const std::string& reference,
                      std::uint64_t reference_lines) {
  core::require(lines == reference_lines, core::ErrorCode::kBadInput,
                "{} has {} lines and {} has {}; line i of one must belong to line i of the other", hypothesis, lines,
                reference, reference_lines);
}

std::uint64_t count_to_end(core::LineReader& reader) {
  for (std::string line; reader.next(line);) {
  }
  return reader.line_number();
}

}  // namespace

TextFile read_text_file(const std::filesystem::path& path, const std::stop_token& stop) {
  core::LineReader reader(path, stop);
  TextFile file{.name = reader.name(), .lines = {}};
  for (std::string line; next_line(reader, line);) file.lines.push_back(line);
  require_lines(!file.lines.empty(), file.name);
  return file;
}

void check_parallel(const TextFile& hypothesis, const TextFile& reference) {
  require_parallel(hypothesis.name, hypothesis.lines.size(), reference.name, reference.lines.size());
}

void ParallelTextReader::open(const std::filesystem::path& path, const std::stop_token& stop) {
  core::LineReader& reader = readers_.emplace_back(path, stop);
  require_lines(next_line(reader, lines_.emplace_back()), reader.name());
}

bool ParallelTextReader::next() {
  if (readers_.empty()) return false;
  if (line_number_++ == 0) return true;  // open() has read the first lines
  const bool more = next_line(readers_[0], lines_[0]);
  for (std::size_t file = 1; file < readers_.size(); ++file)
    if (next_line(readers_[file], lines_[file]) != more)
      require_parallel(name(0), count_to_end(readers_[0]), name(file), count_to_end(readers_[file]));
  return more;
}

}  // namespace dragoman::evaluation
