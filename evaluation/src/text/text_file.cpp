#include "text.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/utf8.h>
#include <dragoman/evaluation/text_file.h>

namespace dragoman::evaluation {

TextFile read_text_file(const std::filesystem::path& path, const std::stop_token& stop) {
  core::LineReader reader(path, stop);
  TextFile file{.name = reader.name(), .lines = {}};
  for (std::string line; reader.next(line);) {
    core::replace_invalid_utf8(line);
    file.lines.emplace_back(trim_right(line));
  }
  core::require(!file.lines.empty(), core::ErrorCode::kBadInput, "{}: the file is empty, there is nothing to evaluate",
                file.name);
  return file;
}

void check_parallel(const TextFile& hypothesis, const TextFile& reference) {
  core::require(hypothesis.lines.size() == reference.lines.size(), core::ErrorCode::kBadInput,
                "{} has {} lines and {} has {}; line i of one must belong to line i of the other", hypothesis.name,
                hypothesis.lines.size(), reference.name, reference.lines.size());
}

}  // namespace dragoman::evaluation
