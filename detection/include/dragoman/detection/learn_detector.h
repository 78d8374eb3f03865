#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>

namespace dragoman::detection {

/// The text of a language: files with a sentence per line. A file may be gzip or Zstandard.
struct LanguageText {
  std::string language;  ///< a code, at most kMaxLanguageName bytes of a-z, A-Z, 0-9 and "-"
  std::vector<std::filesystem::path> files;
};

/// The options of learn_detector(). The defaults made the table in the library.
struct LearnDetectorOptions {
  std::uint32_t rows = 65536;       ///< n-grams share a row if their hashes are equal modulo this
  std::uint32_t width = 16;         ///< values per row; the table has rows × width bytes
  std::uint64_t steps = 5'000'000;  ///< samples: a word, some words or a line of a random language
  double learning_rate = 0.2;       ///< of the first step; it falls linearly to 0
  std::uint64_t seed = 1;           ///< the table depends on the texts, the options and the compiler
};

/// Learns a table for LanguageDetector and writes it to `output`. One thread; about 10 seconds per million steps.
///
/// A language is learned for each script that at least a twelfth of its lines are in. Languages with a script of their
/// own need no text. Error{kBadInput} if a text has too few lines, {kInvalidArgument} for options out of range,
/// {kInterrupted} after a stop request; then nothing is written.
void learn_detector(const std::vector<LanguageText>& texts, const std::filesystem::path& output,
                    const LearnDetectorOptions& options = {}, const core::ProgressSink& progress = {},
                    const std::stop_token& stop = {});

}  // namespace dragoman::detection
