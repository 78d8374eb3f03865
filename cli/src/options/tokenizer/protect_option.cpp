#include "options/tokenizer/protect_option.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

void append_patterns(const std::string& file, std::vector<std::string>& patterns) {
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

}  // namespace

void ProtectOption::add_to(po::options_description& options) {
  options.add_options()  //
      ("protect", po::value(&patterns_)->multitoken()->value_name("REGEX..."),
       "separate matches from the surrounding text and learn no merges from them: numbers, addresses, placeholders")  //
      ("protect-file", po::value(&file_)->value_name("FILE"),
       "file with regular expressions for --protect, one per line");
}

std::vector<std::string> ProtectOption::patterns() const {
  std::vector<std::string> all = patterns_;
  if (!file_.empty()) append_patterns(file_, all);
  return all;
}

}  // namespace dragoman::cli
