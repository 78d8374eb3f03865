#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>

namespace dragoman::corpus {

/// The file format of sentence pairs.
enum class PairFormat : std::uint8_t {
  kText,   ///< two files that are parallel by line number
  kTsv,    ///< one file with a pair in two columns of each line
  kJsonl,  ///< one file with a JSON object on each line
};

inline constexpr std::uint64_t kMaxColumns = 65536;

/// The location of sentence pairs: files, columns and keys. File names are as for core::InputFile: gzip and Zstandard
/// are detected by content, and "-" is standard input.
struct PairFile {
  PairFormat format = PairFormat::kText;
  std::string source;    ///< for kText the file of source lines, else the file of both sides
  std::string target{};  ///< for kText only
  /// For kTsv: the columns, counted from 1.
  std::uint64_t source_column = 1;
  std::uint64_t target_column = 2;
  /// For kJsonl: keys of the object. `a.b` is the key b of the object at a, unless there is a key with that whole name.
  std::string source_key = "source";
  std::string target_key = "target";
  /// Word alignments of the pairs, as text: for kText a file with one line for each pair, for kTsv a column, for kJsonl
  /// a key. Empty and 0 mean that there are none.
  std::string alignment{};
  std::uint64_t alignment_column = 0;
  std::string alignment_key{};

  bool aligned() const noexcept { return !alignment.empty() || alignment_column > 0 || !alignment_key.empty(); }
  bool operator==(const PairFile&) const = default;
};

/// Throws Error{kInvalidArgument} if the description is inconsistent: columns are out of range or equal, a file is
/// missing, or two files are standard input.
void check(const PairFile& file);

/// Lines as they were read, not yet split into sides, without LF and a CR before it.
class RawPairs {
 public:
  std::size_t size() const noexcept { return ends_.size(); }
  /// Returns the bytes of all lines.
  std::size_t bytes() const noexcept { return lines_.size() + target_lines_.size() + alignment_lines_.size(); }
  /// Returns the number of the first line in its file, from 1.
  std::uint64_t first_line() const noexcept { return first_line_; }
  /// Returns the source line for kText, else the line of both sides.
  std::string_view line(std::size_t i) const noexcept { return part(lines_, ends_, i); }
  std::string_view target_line(std::size_t i) const noexcept { return part(target_lines_, target_ends_, i); }
  /// Returns an empty view if there is no file of alignments.
  std::string_view alignment_line(std::size_t i) const noexcept {
    return alignment_ends_.empty() ? std::string_view() : part(alignment_lines_, alignment_ends_, i);
  }

 private:
  friend class PairReader;
  static std::string_view part(const std::string& text, const std::vector<std::size_t>& ends, std::size_t i) noexcept {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(begin, ends[i] - begin);
  }

  std::string lines_;
  std::string target_lines_;
  std::vector<std::size_t> ends_;
  std::vector<std::size_t> target_ends_;
  std::string alignment_lines_;
  std::vector<std::size_t> alignment_ends_;
  std::uint64_t first_line_ = 1;
};

/// The two sides of a line, and their word alignment if the file has one.
struct ParsedPair {
  std::string source;
  std::string target;
  std::string alignment{};
  /// The reason why the line does not hold a pair; empty if it does.
  std::string problem{};
};

/// Splits lines into sides. Each line of a kTsv file must have the same number of columns as the first one; another
/// number means that a text contains a tab or that a line was cut. Thread-safe.
class PairParser {
 public:
  explicit PairParser(PairFile file, std::uint64_t columns = 0) : file_(std::move(file)), columns_(columns) {}
  /// Parses line `i` of `raw` into `pair`. Ill-formed UTF-8 is kept in text and columns; in JSON it is a problem.
  void parse(const RawPairs& raw, std::size_t i, ParsedPair& pair) const;

 private:
  void parse_columns(std::string_view line, ParsedPair& pair) const;
  void parse_object(std::string_view line, ParsedPair& pair) const;

  PairFile file_;
  std::uint64_t columns_;  ///< of each line; 0: at least the ones that are needed
};

/// Reads a PairFile from beginning to end.
///
///     PairReader reader({.source = "train.de", .target = "train.en"});
///     for (ParsedPair pair; reader.next(pair);) std::cout << pair.source << '\t' << pair.target << '\n';
///
/// Compressed files are recognised by content. One thread at a time.
class PairReader {
 public:
  /// Opens the files. Throws like core::InputFile.
  explicit PairReader(PairFile file, std::stop_token stop = {});

  /// Returns the next lines, about `bytes` bytes but at least one line, or nullopt at the end. Throws Error{kBadInput}
  /// if one file of kText ends before another; the message names the files and their numbers of lines.
  std::optional<RawPairs> read(std::size_t bytes);
  /// Reads the next pair. Returns false at the end. Throws Error{kBadInput} with file, line and reason if a line holds
  /// no pair.
  bool next(ParsedPair& pair);
  /// Skips `lines` lines, or the rest of the file if it is shorter.
  void skip(std::uint64_t lines);
  /// Returns the parser for the lines read. It is valid for the lines that follow, too.
  const PairParser& parser() const noexcept { return parser_; }

  std::uint64_t lines_read() const noexcept { return source_.line_number(); }
  /// Returns "source" or "source and target" in a form that is safe to print.
  std::string name() const;
  /// Returns the place of a line for messages: "file: line 7".
  std::string place_of(std::uint64_t line) const;
  /// Returns the place of an alignment for messages.
  std::string place_of_alignment(std::uint64_t line) const;
  /// Like the functions of core::LineReader, summed over source and target. The size is 0 if one of the two is unknown.
  std::uint64_t bytes_from_disk() const noexcept;
  std::uint64_t size_on_disk() const noexcept;

 private:
  bool next_line();
  [[noreturn]] void fail_unequal(bool source_goes_on);
  [[noreturn]] void fail_unequal_alignment(bool source_goes_on);

  PairFile file_;
  core::LineReader source_;
  std::optional<core::LineReader> target_;
  std::optional<core::LineReader> alignment_;
  PairParser parser_;
  std::string line_;
  std::string target_line_;
  std::string alignment_line_;
  RawPairs one_;
};

}  // namespace dragoman::corpus
