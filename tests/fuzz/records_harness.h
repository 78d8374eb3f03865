#pragma once

#include "scratch.h"
#include "target.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/pipeline/record_io.h>

namespace dragoman::fuzz {

/// "jsonl", "tsv 2" or "text": the first line of an input of exercise_records().
struct RecordFile {
  pipeline::RecordFormat format = pipeline::RecordFormat::kText;
  std::uint64_t column = 1;
  std::string_view lines;
};

inline RecordFile split_record_file(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, bytes.find('\n'));
  const std::size_t blank = std::min(head.find(' '), head.size());
  RecordFile file;
  file.format = pipeline::parse_record_format(std::string(head.substr(0, blank)));
  if (blank < head.size()) std::from_chars(head.data() + blank + 1, head.data() + head.size(), file.column);
  file.lines = bytes.substr(std::min(head.size() + 1, bytes.size()));
  return file;
}

inline std::vector<pipeline::Record> read_records(const std::filesystem::path& path, const RecordFile& file,
                                                  const std::string& key) {
  pipeline::RecordReader reader({.path = path, .format = file.format, .key = key, .column = file.column});
  std::vector<pipeline::Record> records;
  while (auto record = reader.next()) records.push_back(std::move(*record));
  return records;
}

inline void write_records(const std::filesystem::path& path, const RecordFile& file,
                          const std::vector<pipeline::Record>& records) {
  pipeline::RecordWriter writer({.path = path, .format = file.format, .column = file.column});
  for (const pipeline::Record& record : records) writer.write(record);
  writer.commit();
}

/// What was read, written, and read again is the same.
inline void check_written_records(const RecordFile& file, const std::vector<pipeline::Record>& records,
                                  const std::vector<pipeline::Record>& again) {
  promise(again.size() == records.size(), "there is one output line for each input line");
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].failed()) {
      check_message(records[i].message);
      continue;
    }
    const bool on_one_line = records[i].text.find_first_of("\r\n") == std::string::npos;
    promise(again[i].line == records[i].line, "output lines stay in the order of their input lines");
    if (file.format != pipeline::RecordFormat::kJsonl && !on_one_line) continue;
    promise(!again[i].failed() && again[i].text == records[i].text, "a text that is written and read is the same");
    for (const auto& [key, value] : records[i].fields.items()) {
      if (key == "columns" || key == "line" || key == "text") continue;
      promise(again[i].fields.contains(key) && again[i].fields[key] == value, "the other keys are handed on");
    }
  }
}

/// Reads records, writes them in the same format, and reads that. True if every line was well-formed.
inline bool exercise_records(std::string_view bytes) {
  bool all_well = true;
  return accepts([&] {
           const RecordFile file = split_record_file(bytes);
           put_file(scratch() / "input", file.lines);
           const auto records = read_records(scratch() / "input", file, "source");
           const auto lines = static_cast<std::size_t>(std::ranges::count(file.lines, '\n'));
           const bool unterminated = !file.lines.empty() && file.lines.back() != '\n';
           const bool packed = file.lines.starts_with("\x1f\x8b") || file.lines.starts_with("\x28\xb5\x2f\xfd");
           promise(packed || records.size() == lines + (unterminated ? 1 : 0), "there is one record for each line");
           write_records(scratch() / "output", file, records);
           check_written_records(file, records, read_records(scratch() / "output", file, "text"));
           all_well = std::ranges::none_of(records, &pipeline::Record::failed);
         }) &&
         all_well;
}

inline Target records_target() {
  // Each line may fail by itself, with a message that is longer than the line, and a line may have one byte.
  return {.name = "records", .exercise = exercise_records, .budget = {.microseconds_per_byte = 8}};
}

}  // namespace dragoman::fuzz
