#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

#include <dragoman/core/file.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

enum class RecordFormat : std::uint8_t {
  kText,   ///< the line is the text
  kJsonl,  ///< a JSON object a line
  kTsv,    ///< columns with a tab between them
};

inline constexpr std::uint64_t kMostColumns = 65536;

struct ReadOptions {
  std::filesystem::path path = "-";
  RecordFormat format = RecordFormat::kText;
  /// kJsonl: the key that holds the text. The other keys stay in Record::fields; those called line, text, error or
  /// input go into the object Record::fields["input"], since that is what the output calls its own. Of a key that
  /// stands twice in an object the last value counts.
  std::string key = "source";
  /// kTsv: the column that holds the text, from 1 to kMostColumns. The line's columns stay in
  /// Record::fields["columns"].
  std::uint64_t column = 1;
  /// Not for kJsonl: a file with as many lines, which become Record::fields["target_prefix"] where they are not empty.
  std::filesystem::path target_prefix_path{};
  /// kTsv: a column that becomes that field; 0: none.
  std::uint64_t target_prefix_column = 0;
};

/// Reads records line by line. A CR before the LF is dropped and invalid UTF-8 replaced; a line that is no JSON object
/// or has too few columns makes a failed record, so that lines keep their places.
class RecordReader {
 public:
  explicit RecordReader(ReadOptions options, const std::stop_token& stop = {});
  /// The next record; nothing at the end, or after a stop request.
  std::optional<Record> next();
  /// Reads over `lines` lines.
  void skip(std::uint64_t lines);
  /// Whether the last next() found the end of the input.
  bool at_end() const noexcept { return at_end_; }
  std::uint64_t lines_read() const noexcept { return lines_.line_number(); }
  /// Of all lines read so far as they stand in the input: tells another input from the same one.
  std::uint64_t hash() const noexcept { return hash_; }
  std::uint64_t replaced_bytes() const noexcept { return replaced_bytes_; }
  std::uint64_t lines_with_invalid_utf8() const noexcept { return invalid_lines_; }
  /// As LineReader's.
  std::uint64_t bytes_from_disk() const noexcept { return lines_.bytes_from_disk(); }
  std::uint64_t size_on_disk() const noexcept { return lines_.size_on_disk(); }
  const std::string& name() const noexcept { return lines_.name(); }

 private:
  bool next_line(std::string& line);
  void next_target_prefix(bool have_line);
  void parse(Record& record) const;

  ReadOptions options_;
  std::stop_token stop_;
  core::LineReader lines_;
  std::optional<core::LineReader> target_prefixes_;
  std::string target_prefix_;
  std::uint64_t replaced_bytes_ = 0;
  std::uint64_t invalid_lines_ = 0;
  std::uint64_t hash_;
  bool at_end_ = false;
};

struct WriteOptions {
  std::filesystem::path path = "-";
  RecordFormat format = RecordFormat::kText;
  /// kTsv: the column, from 1 to kMostColumns, that the text replaces; beyond the last it is appended.
  std::uint64_t column = 1;
  /// What to do with the partial file of an interrupted run.
  core::PartialPolicy partial = core::PartialPolicy::kRefuse;
  /// What the lines are of, as OutputOptions::identity.
  std::string identity{};
  /// How many lines notes vouch for, as OutputOptions::vouched.
  core::OutputOptions::Vouched vouched{};
};

/// Writes one line per record, in the order of the calls. A failed record is an empty line, or in jsonl one with its
/// message.
class RecordWriter {
 public:
  explicit RecordWriter(const WriteOptions& options, const std::stop_token& stop = {});
  void write(const Record& record);
  void flush() { file_.flush(); }
  void commit() { file_.commit(); }
  /// Lines that were there before, when resuming.
  std::uint64_t lines_kept() const noexcept { return file_.lines_kept(); }
  /// As OutputFile's.
  void note(std::string_view line) { file_.note(line); }
  const std::vector<std::string>& notes() const noexcept { return file_.notes(); }
  const std::string& partial_name() const noexcept { return file_.partial_name(); }
  /// Whether there is a partial file that another run can continue.
  bool can_resume() const noexcept { return file_.partial_name() != file_.name(); }

 private:
  WriteOptions options_;
  core::OutputFile file_;
};

}  // namespace dragoman::pipeline
