#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/file.h>

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

/// Reads parallel text files line by line, so that texts of any length need the memory of one line. Each line is as in
/// read_text_file().
///
///     ParallelTextReader texts;
///     texts.open("translations.en");
///     texts.open("valid.en");
///     while (texts.next()) std::cout << texts.lines()[0] << " | " << texts.lines()[1] << '\n';
class ParallelTextReader {
 public:
  /// Opens another file and reads its first line. Call it before next(). Throws like read_text_file().
  void open(const std::filesystem::path& path, const std::stop_token& stop = {});
  /// Reads the next line of every file. Returns false at the end of all. If a file ends earlier than the first one, or
  /// later, reads both to their ends and throws the error of check_parallel().
  bool next();
  /// Returns the current line of each file, in the order of open().
  std::span<const std::string> lines() const noexcept { return lines_; }
  /// Returns the number of the current line, from 1.
  std::uint64_t line_number() const noexcept { return line_number_; }
  /// Returns the name of a file for messages.
  const std::string& name(std::size_t file) const { return readers_[file].name(); }

 private:
  std::vector<core::LineReader> readers_;
  std::vector<std::string> lines_;
  std::uint64_t line_number_ = 0;
};

}  // namespace dragoman::evaluation
