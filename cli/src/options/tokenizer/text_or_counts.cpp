#include "options/tokenizer/text_or_counts.h"

#include "options/text_inputs.h"
#include "program/command.h"

#include <fmt/format.h>

namespace dragoman::cli {

namespace po = boost::program_options;

void TextOrCounts::add_to(po::options_description& options, const char* text_help, const char* counts_help) {
  options.add_options()("input,i", po::value(&texts_)->multitoken()->value_name("FILE..."), text_help)(
      "counts", po::value(&counts_)->multitoken()->value_name("FILE..."), counts_help);
}

void TextOrCounts::choose(std::string_view command, tokenizer::InvalidUtf8 invalid_utf8) {
  if (!texts_.empty() && !counts_.empty())
    throw UsageError(fmt::format("{} needs either --input or --counts, not both", command));
  if (texts_.empty() && counts_.empty() && standard_input_is_piped()) texts_ = {"-"};
  if (texts_.empty() && counts_.empty())
    throw UsageError(fmt::format("{} needs either --input or --counts, or text that is piped to it", command));
  if (is_counts() && invalid_utf8 != tokenizer::InvalidUtf8::kKeep)
    throw UsageError("--invalid-utf8 goes with --input; count files are read as they are");
}

std::vector<std::filesystem::path> TextOrCounts::files() const {
  return expand_files(is_counts() ? counts_ : texts_);
}

}  // namespace dragoman::cli
