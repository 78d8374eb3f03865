#include "dragoman/pipeline/record_io.h"

#include "dragoman/pipeline/line_policy.h"
#include "input_trail.h"
#include "line_options.h"
#include "result_fields.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/white_space.h>

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

bool is_result_name(std::string_view key) {
  return key == "line" || key == "text" || key == "error" || key == kInputField;
}

/// Returns all keys except `text_key`. Keys whose names the output needs are in a separate object.
Json other_fields(Json::object_t& members, const std::string& text_key) {
  Json::object_t fields;
  Json::object_t renamed;
  for (auto& [key, value] : members)
    if (key != text_key) (is_result_name(key) ? renamed : fields).emplace_back(key, std::move(value));
  if (!renamed.empty()) fields.emplace_back(kInputField, std::move(renamed));
  return fields;
}

void parse_jsonl(Record& record, const std::string& key) {
  core::ParsedJson line = core::try_parse_json(record.text);
  if (!line.problem.empty()) return record.mark_failed(fmt::format("{} at byte {}", line.problem, line.position + 1));
  if (!line.tree.is_object()) return record.mark_failed("not a JSON object");
  const auto found = line.tree.find(key);
  if (found == line.tree.end() || !found->is_string())
    return record.mark_failed(fmt::format("no text under the key {}", core::quote(key)));
  record.text = std::move(found->get_ref<std::string&>());
  record.fields = other_fields(line.tree.get_ref<Json::object_t&>(), key);
}

/// Returns whether `line`, which `reader` has just read, followed a byte order mark: LineReader leaves those out.
bool follows_byte_order_mark(const core::LineReader& reader, const std::string& line) {
  constexpr std::size_t kLineFeed = 1;
  return reader.line_number() == 1 && reader.bytes_read() > line.size() + kLineFeed;
}

void set_target_prefix(Record& record, const std::string& text) {
  if (!text.empty()) record.fields[kTargetPrefixField] = text;
}

void parse_tsv(Record& record, const ReadOptions& options) {
  std::vector<std::string> columns = split_columns(record.text);
  if (columns.size() < options.column)
    return record.mark_failed(fmt::format("{} columns, but the text is column {}", columns.size(), options.column));
  struct Field {
    const char* name;
    const char* what;
    std::uint64_t column;
  };
  const Field fields[] = {{kTargetPrefixField, "the beginning of the translation", options.target_prefix_column},
                          {kSourceLanguageField, "the language of the source", options.source_language_column},
                          {kTargetLanguageField, "the language of the translation", options.target_language_column}};
  for (const auto& [name, what, column] : fields) {
    if (columns.size() < column)
      return record.mark_failed(fmt::format("{} columns, but {} is column {}", columns.size(), what, column));
    if (column > 0 && !columns[column - 1].empty()) record.fields[name] = columns[column - 1];
  }
  record.text = columns[options.column - 1];
  record.fields["columns"] = std::move(columns);
}

/// Writes results first. Fields with their names, which only records from elsewhere have, are left out.
std::string jsonl_line(const Record& record) {
  std::string line = fmt::format("{{\"line\":{}", record.line);
  const auto add = [&](const Json& key, const Json& value) {
    line.append(1, ',').append(core::one_line(key)).append(1, ':').append(core::one_line(value));
  };
  if (record.failed())
    add("error", record.message);
  else
    add("text", record.text);
  for (const auto& [key, value] : record.fields.items())
    if (key == kInputField || !is_result_name(key)) add(key, value);
  line += '}';
  return line;
}

/// Returns one cell: a tab would begin the next one.
std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

/// Returns the columns of the input line, unless it came in another format with a key of that name.
std::vector<std::string> columns_of(const Record& record) {
  std::vector<std::string> columns;
  const auto found = record.fields.find("columns");
  if (found == record.fields.end() || !found->is_array()) return columns;
  for (const Json& column : *found) {
    if (!column.is_string()) return {};
    columns.push_back(cell(column.get<std::string>()));
  }
  return columns;
}

std::string tsv_line(const Record& record, std::uint64_t column) {
  std::vector<std::string> columns = columns_of(record);
  if (columns.size() < column) columns.resize(column);
  columns[column - 1] = record.failed() ? std::string() : cell(record.text);
  return fmt::format("{}", fmt::join(columns, "\t"));
}

void check_column(std::uint64_t column) {
  core::require(column >= 1 && column <= kMaxColumns, ErrorCode::kInvalidArgument,
                "column is {}; columns count from 1 to {}", column, kMaxColumns);
}

/// Checks the columns before any file is opened.
ReadOptions checked(ReadOptions options) {
  check_column(options.column);
  for (const std::uint64_t column :
       {options.target_prefix_column, options.source_language_column, options.target_language_column})
    if (column > 0) check_column(column);
  return options;
}
const WriteOptions& checked(const WriteOptions& options) {
  check_column(options.column);
  return options;
}

}  // namespace

std::uint64_t Shard::first_of(std::uint64_t lines) const noexcept {
  // lines * (number - 1) / count could overflow.
  return lines / count * (number - 1) + std::min(lines % count, number - 1);
}

std::uint64_t Shard::last_of(std::uint64_t lines) const noexcept {
  return number == count ? lines : Shard{number + 1, count}.first_of(lines);
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number_in = [&](std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    return whole ? value : 0;
  };
  Shard shard{.number = 0, .count = 0};
  if (slash != std::string::npos)
    shard = {number_in(std::string_view(text).substr(0, slash)), number_in(std::string_view(text).substr(slash + 1))};
  core::require(shard.number >= 1 && shard.number <= shard.count && shard.count <= kMaxShards,
                ErrorCode::kInvalidArgument,
                "must be I/N, as in 2/8: the second of eight shards; I from 1 to N, and N at most {}", kMaxShards);
  return shard;
}

RecordReader::RecordReader(ReadOptions options, const std::stop_token& stop)
    : options_(checked(std::move(options))), stop_(stop), paths_({options_.path}), hash_(core::kFingerprintOfNothing) {
  paths_.insert(paths_.end(), options_.further_paths.begin(), options_.further_paths.end());
  if (paths_.size() > 1) name_ = fmt::format("the input of {} files", paths_.size());
  if (!options_.shard.is_whole()) find_shard();
  open(0);
  // The size of several files is known before they are opened, if they are regular files.
  size_on_disk_ = lines_->size_on_disk();
  for (const auto& path : options_.further_paths) {
    std::error_code unknown;
    const std::uint64_t size = std::filesystem::file_size(path, unknown);
    size_on_disk_ = unknown || size_on_disk_ == 0 ? 0 : size_on_disk_ + size;
  }
  if (!options_.target_prefix_path.empty()) target_prefixes_.emplace(options_.target_prefix_path, stop);
  std::string line;
  for (std::uint64_t i = 0; i < first_line_; ++i) {
    core::require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted before the shard of {}", name_);
    core::require(next_of_file(line), ErrorCode::kBadInput, "{}: has fewer lines than when they were counted", name_);
    if (target_prefixes_) next_target_prefix(true);
  }
}

void RecordReader::open(std::size_t file) {
  if (lines_) {
    bytes_before_ += lines_->bytes_from_disk();
    lines_before_ += lines_->line_number();
  }
  lines_.emplace(paths_[file], stop_);
  next_file_ = file + 1;
  if (paths_.size() == 1) name_ = lines_->name();
  const std::lock_guard lock(mutex_);
  beginnings_.push_back({lines_before_, lines_->name()});
}

/// Counts the lines. An input that is not a regular file could not be read a second time.
void RecordReader::find_shard() {
  std::uint64_t lines = 0;
  std::string line;
  for (const auto& path : paths_) {
    core::InputFile file(path, stop_);
    core::require(file.is_regular() && path != "-", ErrorCode::kInvalidArgument,
                  "{}: is no file that could be read twice, to count its lines first; name one, or leave the shard out",
                  file.name());
    for (core::LineReader reader(std::move(file)); reader.next(line); ++lines)
      core::require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted while counting the lines of {}",
                    reader.name());
  }
  first_line_ = options_.shard.first_of(lines);
  lines_of_shard_ = options_.shard.last_of(lines) - first_line_;
}

std::string RecordReader::place_of(std::uint64_t line) const {
  const std::lock_guard lock(mutex_);
  const auto behind = std::ranges::lower_bound(beginnings_, line, {}, &Beginning::lines_before);
  const Beginning& file = behind == beginnings_.begin() ? beginnings_.front() : *std::prev(behind);
  return fmt::format("{}: line {}", file.name, line - file.lines_before);
}

bool RecordReader::next_of_file(std::string& line) {
  while (!lines_->next(line)) {
    if (next_file_ == paths_.size()) return false;
    open(next_file_);
  }
  return true;
}

bool RecordReader::next_of_shard(std::string& line) {
  if (lines_read_ == lines_of_shard_) return false;
  if (next_of_file(line)) {
    ++lines_read_;
    byte_order_marks_ += follows_byte_order_mark(*lines_, line) ? 1 : 0;
    return true;
  }
  core::require(!lines_of_shard_, ErrorCode::kBadInput, "{}: has fewer lines than when they were counted", name_);
  return false;
}

void RecordReader::parse(Record& record) const {
  if (options_.format == RecordFormat::kJsonl) parse_jsonl(record, options_.key);
  if (options_.format == RecordFormat::kTsv) parse_tsv(record, options_);
  if (target_prefixes_ && !record.failed()) set_target_prefix(record, target_prefix_);
}

std::optional<Record> RecordReader::next() {
  Record record;
  if (stop_.stop_requested() || !next_line(record.text)) return std::nullopt;
  hash_ = core::fingerprint_of_line(record.text, hash_);
  record.line = first_line_ + lines_read_;
  const std::size_t replaced = clean_line(record.text);
  replaced_bytes_ += replaced;
  invalid_lines_ += replaced > 0 ? 1 : 0;
  parse(record);
  return record;
}

bool RecordReader::next_line(std::string& line) {
  try {
    const bool have_line = next_of_shard(line);
    // Prefixes of lines after a shard are not needed.
    if (target_prefixes_ && (have_line || !lines_of_shard_)) next_target_prefix(have_line);
    at_end_ = !have_line;
    return have_line;
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kInterrupted) throw;
    return false;
  }
}

/// Reads the prefix of the line that has been read, or checks that there is none at the end.
void RecordReader::next_target_prefix(bool have_line) {
  const bool have_prefix = target_prefixes_->next(target_prefix_);
  if (have_prefix == have_line) {
    byte_order_marks_ += have_prefix && follows_byte_order_mark(*target_prefixes_, target_prefix_) ? 1 : 0;
    clean_line(target_prefix_);
    return;
  }
  const std::uint64_t lines = have_line ? target_prefixes_->line_number() : lines_before_ + lines_->line_number();
  core::fail(ErrorCode::kBadInput, "{} ends after {} lines but {} goes on; they must be parallel",
             have_line ? target_prefixes_->name() : name_, lines, have_line ? name_ : target_prefixes_->name());
}

void RecordReader::skip(std::uint64_t lines) {
  std::string line;
  const std::uint64_t target = lines_read() + lines;
  while (lines_read() < target) {
    core::require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted while reading over lines of {}",
                  name_);
    core::require(next_of_shard(line), ErrorCode::kBadInput,
                  "{}: has {} lines, but the partial output already has {}; is it another input?", name_, lines_read(),
                  target);
    if (target_prefixes_) next_target_prefix(true);
    hash_ = core::fingerprint_of_line(line, hash_);
  }
}

RecordWriter::RecordWriter(const WriteOptions& options, const std::stop_token& stop)
    : options_(checked(options)),
      file_(options.path,
            {.partial = options.partial, .identity = options.identity, .vouched = options.vouched, .stop = stop}) {}

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
  core::keep_on_one_line(line);
  line.push_back('\n');
  if (!begun_.empty()) line.erase(0, take_beginning(line, record.failed()));
  file_.write(line);
}

void RecordWriter::write_beginning(std::string_view more) {
  file_.write(more);
  begun_ += more;
}

/// Returns how much of the line has been written. The beginning of a failed line cannot be revoked.
std::size_t RecordWriter::take_beginning(const std::string& line, bool failed) {
  const std::string begun = std::exchange(begun_, {});
  if (failed) return 0;
  core::require(line.starts_with(begun), ErrorCode::kInternal, "{}: the beginning of a line has changed", file_.name());
  return begun.size();
}

}  // namespace dragoman::pipeline
