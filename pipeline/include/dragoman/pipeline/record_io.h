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
  kJsonl,  ///< a JSON object a line
  kTsv,    ///< columns with a tab between them
};

inline constexpr std::uint64_t kMaxColumns = 65536;

/// One of `count` parts of consecutive lines whose lengths differ by one line at most; all, in order, are the whole.
struct Shard {
  std::uint64_t number = 1;  ///< from 1
  std::uint64_t count = 1;

  bool is_whole() const noexcept { return count == 1; }
  /// The lines [first, last) of so many, from 0.
  std::uint64_t first_of(std::uint64_t lines) const noexcept;
  std::uint64_t last_of(std::uint64_t lines) const noexcept;
};

/// `I/N`. Error{kInvalidArgument} unless 1 <= I <= N <= kMaxShards.
inline constexpr std::uint64_t kMaxShards = 1000000;
Shard parse_shard(const std::string& text);

struct ReadOptions {
  std::filesystem::path path = "-";
  /// Read behind that, as if all were one file; a line ends where its file does.
  std::vector<std::filesystem::path> further_paths{};
  /// What is read of the lines of all files, which must be regular ones unless it is the whole: they are counted first.
  /// Records keep the numbers that their lines have in the whole.
  Shard shard{};
  RecordFormat format = RecordFormat::kText;
  /// kJsonl: the key that holds the text. The other keys stay in Record::fields; those called line, text, error or
  /// input go into the object Record::fields["input"], since that is what the output calls its own. A line with an
  /// object that has a key twice fails.
  std::string key = "source";
  /// kTsv: the column that holds the text, from 1 to kMaxColumns. The line's columns stay in
  /// Record::fields["columns"].
  std::uint64_t column = 1;
  /// Not for kJsonl: a file with as many lines, which become Record::fields["target_prefix"] where they are not empty.
  std::filesystem::path target_prefix_path{};
  /// kTsv: a column that becomes that field; 0: none.
  std::uint64_t target_prefix_column = 0;
  /// Of kTsv: Record::fields["source_language"] and ["target_language"] where they are not empty; 0: none.
  std::uint64_t source_language_column = 0;
  std::uint64_t target_language_column = 0;
};

/// Reads records line by line. A CR before the LF is dropped and invalid UTF-8 replaced; a line that is no JSON object
/// or has too few columns makes a failed record, so that lines keep their places. Of several files the next is opened
/// when the one before has ended.
class RecordReader {
 public:
  explicit RecordReader(ReadOptions options, const std::stop_token& stop = {});
  /// The next record; nothing at the end, or after a stop request.
  std::optional<Record> next();
  /// Reads over `lines` lines of the shard.
  void skip(std::uint64_t lines);
  /// Whether the last next() found the end of the input.
  bool at_end() const noexcept { return at_end_; }
  /// Of the shard.
  std::uint64_t lines_read() const noexcept { return lines_read_; }
  /// Of the shard; nothing if they were not counted.
  std::optional<std::uint64_t> lines() const noexcept { return lines_of_shard_; }
  /// Of all lines read so far as they stand in the input: tells another input from the same one.
  std::uint64_t hash() const noexcept { return hash_; }
  std::uint64_t replaced_bytes() const noexcept { return replaced_bytes_; }
  std::uint64_t lines_with_invalid_utf8() const noexcept { return invalid_lines_; }
  /// Files read so far that began with a byte order mark, which is left out.
  std::uint64_t byte_order_marks() const noexcept { return byte_order_marks_; }
  /// As LineReader's, of all files; the size is 0 if that of any is not known.
  std::uint64_t bytes_from_disk() const noexcept { return bytes_before_ + lines_->bytes_from_disk(); }
  std::uint64_t size_on_disk() const noexcept { return size_on_disk_; }
  /// For messages: of the file, or of all.
  const std::string& name() const noexcept { return name_; }
  /// For messages: the file in which the record of a number stands, and its line there. Thread-safe.
  std::string place_of(std::uint64_t line) const;

 private:
  /// Where a file begins.
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
  std::optional<core::LineReader> lines_;  ///< of the file that is read
  std::size_t next_file_ = 0;
  std::uint64_t bytes_before_ = 0;  ///< of the files before it
  std::uint64_t lines_before_ = 0;
  std::uint64_t size_on_disk_ = 0;
  std::uint64_t first_line_ = 0;  ///< of the shard
  std::optional<std::uint64_t> lines_of_shard_;
  std::uint64_t lines_read_ = 0;
  std::vector<Beginning> beginnings_;
  mutable std::mutex mutex_;  ///< of the beginnings
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
  /// kTsv: the column, from 1 to kMaxColumns, that the text replaces; beyond the last it is appended.
  std::uint64_t column = 1;
  /// What to do with the partial file of an interrupted run.
  core::PartialPolicy partial = core::PartialPolicy::kRefuse;
  /// What the lines are of, as OutputOptions::identity.
  std::string identity{};
  /// How many lines notes vouch for, as OutputOptions::vouched.
  core::OutputOptions::Vouched vouched{};
  /// kText: takes what is known of a line before it is done.
  bool stream = false;
};

/// Writes one line per record, in the order of the calls. A failed record is an empty line, or in jsonl one with its
/// message.
class RecordWriter {
 public:
  explicit RecordWriter(const WriteOptions& options, const std::stop_token& stop = {});
  void write(const Record& record);
  bool takes_beginnings() const noexcept { return options_.stream && options_.format == RecordFormat::kText; }
  /// What the text of the record that is written next begins with, behind what earlier calls gave of it.
  void write_beginning(std::string_view more);
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
  std::size_t take_beginning(const std::string& line, bool failed);

  WriteOptions options_;
  core::OutputFile file_;
  std::string begun_;  ///< of the next line
};

}  // namespace dragoman::pipeline
