#include "dragoman/pipeline/record_io.h"

#include "dragoman/pipeline/line_policy.h"

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using core::Json;

std::vector<std::string> split_columns(const std::string& line) {
  std::vector<std::string> columns;
  for (std::size_t begin = 0;;) {
    const std::size_t tab = line.find('\t', begin);
    columns.push_back(line.substr(begin, tab - begin));
    if (tab == std::string::npos) return columns;
    begin = tab + 1;
  }
}

void parse_jsonl(Record& record, const std::string& key) {
  Json object = Json::parse(record.text, nullptr, false);
  if (!object.is_object()) return record.mark_failed("not a JSON object");
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    return record.mark_failed(fmt::format("no text under the key '{}'", key));
  record.text = found->get<std::string>();
  object.erase(key);
  record.fields = std::move(object);
}

void parse_tsv(Record& record, std::uint64_t column) {
  std::vector<std::string> columns = split_columns(record.text);
  if (columns.size() < column)
    return record.mark_failed(fmt::format("{} columns, but the text is column {}", columns.size(), column));
  record.text = columns[column - 1];
  record.fields["columns"] = std::move(columns);
}

std::string jsonl_line(const Record& record) {
  Json line{{"line", record.line}};
  if (record.failed()) {
    line["error"] = record.message;
  } else {
    line["text"] = record.text;
  }
  for (const auto& [key, value] : record.fields.items()) line[key] = value;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string tsv_line(const Record& record, std::uint64_t column) {
  std::vector<std::string> columns;
  if (const auto found = record.fields.find("columns"); found != record.fields.end())
    columns = found->get<std::vector<std::string>>();
  if (columns.size() < column) columns.resize(column);
  columns[column - 1] = record.failed() ? std::string() : record.text;
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) line += (i == 0 ? "" : "\t") + columns[i];
  return line;
}

}  // namespace

RecordFormat parse_record_format(const std::string& name) {
  if (name == "text") return RecordFormat::kText;
  if (name == "jsonl") return RecordFormat::kJsonl;
  if (name == "tsv") return RecordFormat::kTsv;
  core::fail(ErrorCode::kInvalidArgument, "unknown format '{}'; it must be text, jsonl or tsv", name);
}

RecordReader::RecordReader(ReadOptions options, const std::stop_token& stop)
    : options_(std::move(options)), stop_(stop), lines_(options_.path, stop) {
  core::require(options_.column >= 1, ErrorCode::kInvalidArgument, "columns count from 1");
}

void RecordReader::parse(Record& record) const {
  if (options_.format == RecordFormat::kJsonl) parse_jsonl(record, options_.key);
  if (options_.format == RecordFormat::kTsv) parse_tsv(record, options_.column);
}

std::optional<Record> RecordReader::next() {
  Record record;
  if (stop_.stop_requested() || !next_line(record.text)) return std::nullopt;
  record.line = lines_.line_number();
  const std::size_t replaced = clean_line(record.text);
  replaced_bytes_ += replaced;
  invalid_lines_ += replaced > 0 ? 1 : 0;
  parse(record);
  return record;
}

bool RecordReader::next_line(std::string& line) {
  try {
    return lines_.next(line);
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kInterrupted) throw;
    return false;
  }
}

void RecordReader::skip(std::uint64_t lines) {
  std::string line;
  for (std::uint64_t i = 0; i < lines; ++i)
    core::require(lines_.next(line), ErrorCode::kBadInput,
                  "{}: has {} lines, but the partial output already has {}; is it another input?", lines_.name(), i,
                  lines);
}

RecordWriter::RecordWriter(const WriteOptions& options)
    : options_(options),
      file_(options.path, {.partial = options.resume ? core::PartialPolicy::kResume : core::PartialPolicy::kReplace}) {}

void RecordWriter::write(const Record& record) {
  std::string line;
  switch (options_.format) {
    case RecordFormat::kText:
      line = record.failed() ? std::string() : record.text;
      break;
    case RecordFormat::kJsonl:
      line = jsonl_line(record);
      break;
    case RecordFormat::kTsv:
      line = tsv_line(record, options_.column);
      break;
  }
  keep_on_one_line(line);
  line.push_back('\n');
  file_.write(line);
}

}  // namespace dragoman::pipeline
