#pragma once

#include "scratch.h"
#include "target.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/pipeline/record_io.h>

namespace dragoman::fuzz {

/// "jsonl", "tsv 2" or "text": the first line of an input of exercise_records().
struct RecordFile {
  pipeline::RecordFormat format = pipeline::RecordFormat::kText;
  std::uint64_t column = 1;
  std::string_view lines;
};

inline pipeline::RecordFormat format_of(std::string_view name) {
  if (name == "text") return pipeline::RecordFormat::kText;
  if (name == "jsonl") return pipeline::RecordFormat::kJsonl;
  if (name == "tsv") return pipeline::RecordFormat::kTsv;
  core::fail(core::ErrorCode::kBadInput, "an input of another target");
}

inline RecordFile split_record_file(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, bytes.find('\n'));
  const std::size_t blank = std::min(head.find(' '), head.size());
  RecordFile file;
  file.format = format_of(head.substr(0, blank));
  if (blank < head.size()) std::from_chars(head.data() + blank + 1, head.data() + head.size(), file.column);
  file.lines = bytes.substr(std::min(head.size() + 1, bytes.size()));
  return file;
}

/// Record by record, as the program reads them: what is in memory at a time is one record of each file.
inline pipeline::RecordReader open_records(const std::filesystem::path& path, const RecordFile& file,
                                           const std::string& key) {
  return pipeline::RecordReader({.path = path, .format = file.format, .key = key, .column = file.column});
}

/// Writes what is read from `input`, checks that there is one record for each line, and says whether all are
/// well-formed.
inline bool copy_records(const std::filesystem::path& input, const std::filesystem::path& output,
                         const RecordFile& file) {
  pipeline::RecordReader reader = open_records(input, file, "source");
  pipeline::RecordWriter writer({.path = output, .format = file.format, .column = file.column});
  std::size_t count = 0;
  bool all_well = true;
  while (const auto record = reader.next()) {
    ++count;
    if (record->failed()) check_message(record->message);
    all_well = all_well && !record->failed();
    writer.write(*record);
  }
  writer.commit();
  const auto lines = static_cast<std::size_t>(std::ranges::count(file.lines, '\n'));
  const bool unterminated = !file.lines.empty() && file.lines.back() != '\n';
  const bool packed = file.lines.starts_with("\x1f\x8b") || file.lines.starts_with("\x28\xb5\x2f\xfd");
  promise(packed || count == lines + (unterminated ? 1 : 0), "there is one record for each line");
  return all_well;
}

inline void check_copy(const RecordFile& file, const pipeline::Record& record, const pipeline::Record& again) {
  if (record.failed()) return;
  const bool on_one_line = record.text.find_first_of("\r\n") == std::string::npos;
  promise(again.line == record.line, "output lines stay in the order of their input lines");
  if (file.format != pipeline::RecordFormat::kJsonl && !on_one_line) return;
  promise(!again.failed() && again.text == record.text, "a text that is written and read is the same");
  for (const auto& [key, value] : record.fields.items()) {
    if (key == "columns" || key == "line" || key == "text") continue;
    promise(again.fields.contains(key) && again.fields[key] == value, "the other keys are handed on");
  }
}

/// Reads records, writes them in the same format, and reads that. True if every line was well-formed.
inline bool exercise_records(std::string_view bytes) {
  bool all_well = true;
  return accepts([&] {
           const RecordFile file = split_record_file(bytes);
           put_file(scratch() / "input", file.lines);
           all_well = copy_records(scratch() / "input", scratch() / "output", file);
           pipeline::RecordReader originals = open_records(scratch() / "input", file, "source");
           pipeline::RecordReader copies = open_records(scratch() / "output", file, "text");
           for (auto record = originals.next(); record; record = originals.next()) {
             const auto again = copies.next();
             promise(again.has_value(), "there is one output line for each input line");
             check_copy(file, *record, *again);
           }
           promise(!copies.next(), "there is one output line for each input line");
         }) &&
         all_well;
}

inline Target records_target() {
  // Each line may fail by itself, with a message that is longer than the line, and a line may have one byte. Every line
  // is read three times: twice from the input, once from its copy. Sanitizers at -O1 slow exceptions down by more than
  // they do the rest.
  return {.name = "records", .exercise = exercise_records, .budget = {.microseconds_per_byte = 24}};
}

}  // namespace dragoman::fuzz
