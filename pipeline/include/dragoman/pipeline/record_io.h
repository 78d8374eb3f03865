#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

enum class RecordFormat : std::uint8_t {
  kText,   ///< the line is the text
  kJsonl,  ///< one JSON object per line
  kTsv,    ///< columns separated by tabs
};

inline constexpr std::uint64_t kMaxColumns = 65536;

/// One of `count` parts of consecutive lines. The parts differ by at most one line in length; all parts, in order, are
/// the whole.
struct Shard {
  std::uint64_t number = 1;  ///< from 1
  std::uint64_t count = 1;

  bool is_whole() const noexcept { return count == 1; }
  /// Return the range of lines [first, last), from 0, of an input with `lines` lines.
  std::uint64_t first_of(std::uint64_t lines) const noexcept;
  std::uint64_t last_of(std::uint64_t lines) const noexcept;
};

/// Parses `I/N`. Error{kInvalidArgument} unless 1 <= I <= N <= kMaxShards.
inline constexpr std::uint64_t kMaxShards = 1000000;
Shard parse_shard(const std::string& text);

struct ReadOptions {
  std::filesystem::path path = "-";
  /// Files to read after `path`, as if all were one file. A line ends at the end of its file.
  std::vector<std::filesystem::path> further_paths{};
  /// The part of the lines of all files to read. Unless it is the whole, the files must be regular ones, because lines
  /// are counted first. Records keep the line numbers of the whole.
  Shard shard{};
  RecordFormat format = RecordFormat::kText;
  /// kJsonl: the key of the text. Other keys are stored in Record::fields. Keys named line, text, error or input are
  /// stored in the object Record::fields["input"], because the output uses these names. A line fails if an object has a
  /// duplicate key.
  std::string key = "source";
  /// kTsv: the column of the text, from 1 to kMaxColumns. All columns are stored in Record::fields["columns"].
  std::uint64_t column = 1;
  /// Not for kJsonl: a file with the same number of lines. Lines that are not empty become
  /// Record::fields["target_prefix"].
  std::filesystem::path target_prefix_path{};
  /// kTsv: the column that becomes that field. 0: none.
  std::uint64_t target_prefix_column = 0;
  /// kTsv: the columns that become Record::fields["source_language"] and ["target_language"] where they are not empty.
  /// 0: none.
  std::uint64_t source_language_column = 0;
  std::uint64_t target_language_column = 0;
};

/// Reads records line by line. Removes a CR before the LF and replaces invalid UTF-8. A line that is no JSON object or
/// has too few columns becomes a failed record, so that later lines keep their numbers. Of several files, the next one
/// is opened at the end of the previous one.
///
///     RecordReader reader({.path = "input.jsonl", .format = RecordFormat::kJsonl});
///     RecordWriter writer({.path = "output.jsonl", .format = RecordFormat::kJsonl});
///     while (const std::optional<Record> record = reader.next()) writer.write(*record);
///     writer.commit();
///
/// One thread at a time, except for place_of(). Throws like core::InputFile.
class RecordReader {
 public:
  explicit RecordReader(ReadOptions options, const std::stop_token& stop = {});
  /// Returns the next record; nullopt at the end or after a stop request.
  std::optional<Record> next();
  /// Skips `lines` lines of the shard.
  void skip(std::uint64_t lines);
  /// Returns whether the last next() reached the end of the input.
  bool at_end() const noexcept { return at_end_; }
  /// Returns the number of lines of the shard that were read.
  std::uint64_t lines_read() const noexcept { return lines_read_; }
  /// Returns the number of lines of the shard, or nullopt if they were not counted.
  std::optional<std::uint64_t> lines() const noexcept { return lines_of_shard_; }
  /// Returns the hash of all input lines read so far, which distinguishes inputs.
  std::uint64_t hash() const noexcept { return hash_; }
  std::uint64_t replaced_bytes() const noexcept { return replaced_bytes_; }
  std::uint64_t lines_with_invalid_utf8() const noexcept { return invalid_lines_; }
  /// Returns the number of files read so far that began with a byte order mark. Byte order marks are left out.
  std::uint64_t byte_order_marks() const noexcept { return byte_order_marks_; }
  /// As in LineReader, over all files. The size is 0 if the size of any file is unknown.
  std::uint64_t bytes_from_disk() const noexcept { return bytes_before_ + lines_->bytes_from_disk(); }
  std::uint64_t size_on_disk() const noexcept { return size_on_disk_; }
  /// Returns the name of the file, or of all files, for messages.
  const std::string& name() const noexcept { return name_; }
  /// Returns, for messages, the file of the record with a number and its line there. Thread-safe.
  std::string place_of(std::uint64_t line) const;

 private:
  /// The beginning of a file in the input.
  struct Beginning {
    std::uint64_t lines_before;
    std::string name;
  };

  void open(std::size_t file);
  void find_shard();
  bool next_of_file(std::string& line);
  bool next_of_shard(std::string& line);
  bool next_line(std::string& line);
  void next_target_prefix(bool have_line);
  void parse(Record& record) const;

  ReadOptions options_;
  std::stop_token stop_;
  std::vector<std::filesystem::path> paths_;
  std::string name_;
  std::optional<core::LineReader> lines_;  ///< the current file
  std::size_t next_file_ = 0;
  std::uint64_t bytes_before_ = 0;  ///< of the files before it
  std::uint64_t lines_before_ = 0;
  std::uint64_t size_on_disk_ = 0;
  std::uint64_t first_line_ = 0;  ///< of the shard
  std::optional<std::uint64_t> lines_of_shard_;
  std::uint64_t lines_read_ = 0;
  std::vector<Beginning> beginnings_;
  mutable std::mutex mutex_;  ///< guards the beginnings
  std::optional<core::LineReader> target_prefixes_;
  std::string target_prefix_;
  std::uint64_t replaced_bytes_ = 0;
  std::uint64_t invalid_lines_ = 0;
  std::uint64_t byte_order_marks_ = 0;
  std::uint64_t hash_;
  bool at_end_ = false;
};

struct WriteOptions {
  std::filesystem::path path = "-";
  RecordFormat format = RecordFormat::kText;
  /// kTsv: the column that the text replaces, from 1 to kMaxColumns. Beyond the last column, the text is appended.
  std::uint64_t column = 1;
  /// What to do with the partial file of an interrupted run.
  core::PartialPolicy partial = core::PartialPolicy::kRefuse;
  /// The identity of the job, as OutputOptions::identity.
  std::string identity{};
  /// The number of lines that notes vouch for, as OutputOptions::vouched.
  core::OutputOptions::Vouched vouched{};
  /// kText: whether the known beginning of a line is written before the line is complete.
  bool stream = false;
};

/// Writes one line per record, in the order of the calls. A failed record becomes an empty line, or in jsonl a line
/// with its message. One thread at a time. Errors and the partial file are as for core::OutputFile.
class RecordWriter {
 public:
  explicit RecordWriter(const WriteOptions& options, const std::stop_token& stop = {});
  void write(const Record& record);
  bool takes_beginnings() const noexcept { return options_.stream && options_.format == RecordFormat::kText; }
  /// Writes more of the beginning of the next record's text, after the text of previous calls.
  void write_beginning(std::string_view more);
  void flush() { file_.flush(); }
  void commit() { file_.commit(); }
  /// Returns the number of existing lines when resuming.
  std::uint64_t lines_kept() const noexcept { return file_.lines_kept(); }
  /// As in OutputFile.
  void note(std::string_view line) { file_.note(line); }
  const std::vector<std::string>& notes() const noexcept { return file_.notes(); }
  const std::string& partial_name() const noexcept { return file_.partial_name(); }
  /// Returns whether there is a partial file that another run can continue.
  bool can_resume() const noexcept { return file_.partial_name() != file_.name(); }

 private:
  std::size_t take_beginning(const std::string& line, bool failed);

  WriteOptions options_;
  core::OutputFile file_;
  std::string begun_;  ///< the written beginning of the next line
};

}  // namespace dragoman::pipeline
