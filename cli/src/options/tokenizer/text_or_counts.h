#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

#include <dragoman/tokenizer/count_words.h>

namespace dragoman::cli {

/// The input of the commands that learn from words: --input with text, or --counts with files of count-words.
class TextOrCounts {
 public:
  /// Adds both options, with the help of --counts. --input is the command's positional option.
  void add_to(boost::program_options::options_description& options, const char* text_help, const char* counts_help);

  /// Chooses the piped standard input as text if neither option is given. UsageError unless there is text or counts but
  /// not both, and if `invalid_utf8` is given for counts, which are read as they are.
  void choose(std::string_view command, tokenizer::InvalidUtf8 invalid_utf8);

  /// Returns whether files() are files of count-words.
  bool is_counts() const noexcept { return !counts_.empty(); }
  /// Returns the files of the option that was given, with patterns expanded.
  std::vector<std::filesystem::path> files() const;
  /// Returns the words of --input, to which VocabSizeOption adds those that follow the sizes.
  std::vector<std::string>& texts() noexcept { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string> counts_;
};

}  // namespace dragoman::cli
