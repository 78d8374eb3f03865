#pragma once

#include "options/number_option.h"
#include "program/command.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {

/// Options for tokenizer files other than `tokenizer.json`, which leave some properties undefined.
class TokenizerOptions {
 public:
  void add_to(boost::program_options::options_description& options) {
    namespace po = boost::program_options;
    options.add_options()  //
        ("separator", po::value(&read_.separator)->default_value(read_.separator)->value_name("MARK"),
         "codes: mark after a piece that does not end its word")  //
        ("vocabulary", po::value(&vocabulary_)->value_name("FILE"),
         "codes and SentencePiece models: list of pieces and counts; pieces that it lacks are split, as in subword-nmt "
         "and spm_encode")  //
        ("vocabulary-threshold",
         whole_number("--vocabulary-threshold", read_.vocabulary_threshold, std::int64_t{0})
             ->default_value("0")
             ->value_name("N"),
         "with --vocabulary: also split pieces with a lower count")  //
        ("dictionary", po::value(&dictionary_)->value_name("FILE"),
         "read the ids from fairseq's dict.txt or Marian's vocab.yml")  //
        ("pattern", po::value(&pattern_)->value_name("PATTERN"),
         "rank files: how text is split into words: gpt2, cl100k, cl100k-earlier, o200k, or a regular expression");
  }

  tokenizer::ReadOptions read_options(const std::string& kind = "") const {
    tokenizer::ReadOptions read = read_;
    read.vocabulary = vocabulary_;
    read.dictionary = dictionary_;
    if (!pattern_.empty()) read_pattern(read);
    if (!kind.empty()) read.kind = file_kind(kind, "--from");
    return read;
  }

  /// Adds --from, for commands that only read.
  void add_kind_to(boost::program_options::options_description& options) {
    options.add_options()("from", boost::program_options::value(&from_)->value_name("KIND"),
                          fmt::format("format of the tokenizer file (default: recognised by content): {}",
                                      fmt::join(tokenizer::file_kind_names(), ", "))
                              .c_str());
  }

  std::unique_ptr<tokenizer::Tokenizer> load(const std::string& path, const core::LogSink& log = {}) const {
    tokenizer::ReadOptions read = read_options(from_);
    read.log = log;
    return tokenizer::open_tokenizer_file(path, read);
  }

  /// Return the files that are read in addition to the tokenizer's; empty if there is none.
  const std::string& vocabulary() const noexcept { return vocabulary_; }
  const std::string& dictionary() const noexcept { return dictionary_; }

  /// Returns whether any of the options is given.
  bool any() const {
    return !from_.empty() || read_.any() || !(vocabulary_.empty() && dictionary_.empty() && pattern_.empty());
  }

  static tokenizer::FileKind file_kind(const std::string& name, std::string_view option) {
    if (const auto kind = tokenizer::file_kind(name)) return *kind;
    throw UsageError(
        fmt::format("{} {}: must be one of: {}", option, name, fmt::join(tokenizer::file_kind_names(), ", ")));
  }

 private:
  void read_pattern(tokenizer::ReadOptions& read) const {
    read.pattern = tokenizer::word_pattern(pattern_);
    try {
      if (!read.pattern) read.expression = tokenizer::word_expression(pattern_);
    } catch (const core::Error& error) {
      throw UsageError(fmt::format("--pattern {}: {}", pattern_, error.what()));
    }
  }

  tokenizer::ReadOptions read_;
  std::string vocabulary_;
  std::string dictionary_;
  std::string pattern_;
  std::string from_;
};

}  // namespace dragoman::cli
