#include "options/tokenizer/protected_patterns_file.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::cli {

void append_protected_patterns(const std::filesystem::path& file, std::vector<std::string>& patterns) {
  core::LineReader lines(file);
  for (std::string line; lines.next(line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    try {
      tokenizer::check_protected_pattern(line);
    } catch (const core::Error& error) {
      core::fail(error.code(), "{}: line {}: {}", lines.name(), lines.line_number(), error.what());
    }
    patterns.push_back(line);
  }
}

}  // namespace dragoman::cli
