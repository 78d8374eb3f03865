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

enum class PairFormat : std::uint8_t {
  kText,   ///< two files that are parallel by line number
  kTsv,    ///< one file, a pair in two columns of each line
  kJsonl,  ///< one file, a JSON object a line
};

inline constexpr std::uint64_t kMaxColumns = 65536;

/// Where sentence pairs stand. Names are as those of core::InputFile: gzip and Zstandard are recognised by content, "-"
/// is standard input.
struct PairFile {
  PairFormat format = PairFormat::kText;
  std::string source;    ///< of kText the file of source lines, else the file of both sides
  std::string target{};  ///< of kText only
  /// kTsv: from 1.
  std::uint64_t source_column = 1;
  std::uint64_t target_column = 2;
  /// kJsonl: a key of the object; `a.b` is the key b of the object at a, unless there is a key of that whole name.
  std::string source_key = "source";
  std::string target_key = "target";
  /// Word alignments of the pairs, as text: of kText a file of a line for each, of kTsv a column, of kJsonl a key.
  /// Empty and 0: there are none.
  std::string alignment{};
  std::uint64_t alignment_column = 0;
  std::string alignment_key{};

  bool aligned() const noexcept { return !alignment.empty() || alignment_column > 0 || !alignment_key.empty(); }
  bool operator==(const PairFile&) const = default;
};

/// Error{kInvalidArgument} for a description that makes no sense: columns out of range or equal, a missing file, two
/// from standard input.
void check(const PairFile& file);

/// Lines as they were read, before they are split into sides: without LF, and CR before it.
class RawPairs {
 public:
  std::size_t size() const noexcept { return ends_.size(); }
  /// Of all lines.
  std::size_t bytes() const noexcept { return lines_.size() + target_lines_.size() + alignment_lines_.size(); }
  /// The number of the first line in its file, from 1.
  std::uint64_t first_line() const noexcept { return first_line_; }
  /// Of kText the line of the source, else that of both sides.
  std::string_view line(std::size_t i) const noexcept { return part(lines_, ends_, i); }
  std::string_view target_line(std::size_t i) const noexcept { return part(target_lines_, target_ends_, i); }
  /// Empty if there is no file of alignments.
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

/// The two sides of a line, and how they are aligned, if the file says that.
struct ParsedPair {
  std::string source;
  std::string target;
  std::string alignment{};
  /// Why the line does not hold a pair; empty if it does.
  std::string problem{};
};

/// Splits lines into sides. Each line of a kTsv file has as many columns as its first one: another number says that a
/// text has a tab in it, or that a line was cut. Thread-safe.
class PairParser {
 public:
  explicit PairParser(PairFile file, std::uint64_t columns = 0) : file_(std::move(file)), columns_(columns) {}
  /// Bytes that are not UTF-8 stay as they are in text and columns; in JSON they are a problem.
  void parse(const RawPairs& raw, std::size_t i, ParsedPair& pair) const;

 private:
  void parse_columns(std::string_view line, ParsedPair& pair) const;
  void parse_object(std::string_view line, ParsedPair& pair) const;

  PairFile file_;
  std::uint64_t columns_;  ///< of each line; 0: at least those that are asked for
};

/// Reads a PairFile from the beginning to the end. One thread at a time.
class PairReader {
 public:
  /// Opens the files: Error as core::InputFile.
  explicit PairReader(PairFile file, std::stop_token stop = {});

  /// The next lines, of about so many bytes, at least one; nothing at the end. Error{kBadInput} where one file of
  /// kText ends before another, naming them with their numbers of lines.
  std::optional<RawPairs> read(std::size_t bytes);
  /// The next pair; false at the end. Error{kBadInput} naming file, line and reason for a line that holds none.
  bool next(ParsedPair& pair);
  /// Reads over so many lines, or to the end.
  void skip(std::uint64_t lines);
  /// Of the lines that were read. Valid for those that come, too.
  const PairParser& parser() const noexcept { return parser_; }

  std::uint64_t lines_read() const noexcept { return source_.line_number(); }
  /// "source", or "source and target" as they may be shown to people.
  std::string name() const;
  /// "file: line 7" for messages.
  std::string place_of(std::uint64_t line) const;
  /// The same of an alignment.
  std::string place_of_alignment(std::uint64_t line) const;
  /// As core::LineReader's, of both files; the size is 0 if one of them has none.
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
