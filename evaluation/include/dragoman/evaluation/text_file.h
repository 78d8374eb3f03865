#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace dragoman::evaluation {

/// The lines of a file without trailing whitespace, as sacreBLEU's command line reads them.
struct TextFile {
  std::string name;  ///< for messages
  std::vector<std::string> lines;
};

/// Reads a text file, which may be compressed (gz, zst); "-" is standard input. Ill-formed UTF-8 becomes U+FFFD. Throws
/// Error{kBadInput} if the file has no lines. `stop` ends the wait for a silent pipe, as in core::InputFile.
TextFile read_text_file(const std::filesystem::path& path, const std::stop_token& stop = {});

/// Throws Error{kBadInput} that names both files and their numbers of lines unless these are equal.
///
///     const TextFile hypothesis = read_text_file("translations.en");
///     const TextFile reference = read_text_file("valid.en");
///     check_parallel(hypothesis, reference);
///     const std::vector<std::vector<std::string>> references{reference.lines};
///     std::cout << corpus_bleu(hypothesis.lines, references).text() << '\n';     // bleu.h
void check_parallel(const TextFile& hypothesis, const TextFile& reference);

}  // namespace dragoman::evaluation
