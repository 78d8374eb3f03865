#include "options/tokenizer/user_symbols_file.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/utf8.h>

namespace dragoman::cli {

void append_user_symbols(const std::filesystem::path& file, std::vector<std::string>& symbols) {
  core::LineReader lines(file);
  for (std::string line; lines.next(line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    core::require(core::find_invalid_utf8(line) == std::string::npos, core::ErrorCode::kBadInput,
                  "{}: line {} is not valid UTF-8; save the file as UTF-8", lines.name(), lines.line_number());
    symbols.push_back(line);
  }
}

}  // namespace dragoman::cli
