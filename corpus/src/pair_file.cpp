#include "dragoman/corpus/pair_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::corpus {
namespace {

using core::ErrorCode;
using core::Json;

PairFile checked(PairFile file) {
  check(file);
  return file;
}

void drop_carriage_return(std::string& line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

/// Reads to the end and returns the number of lines, so that a message can give both lengths.
std::uint64_t count_to_end(core::LineReader& reader) {
  std::string line;
  while (reader.next(line)) {
  }
  return reader.line_number();
}

/// Returns the value at `key`, or at the path of keys between its dots, or nullptr if there is none.
const Json* find_value(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  if (const auto found = object.find(key); found != object.end()) return &*found;
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto inner = object.find(key.substr(0, dot));
  return inner == object.end() ? nullptr : find_value(*inner, key.substr(dot + 1));
}

void check_alignment(const PairFile& file) {
  const auto only = [](bool given, bool wanted, std::string_view what) {
    core::require(!given || wanted, ErrorCode::kInvalidArgument, "{} of alignments in a text of another form", what);
  };
  only(!file.alignment.empty(), file.format == PairFormat::kText, "a file");
  only(file.alignment_column > 0, file.format == PairFormat::kTsv, "a column");
  only(!file.alignment_key.empty(), file.format == PairFormat::kJsonl, "a key");
  core::require(file.alignment_column <= kMaxColumns, ErrorCode::kInvalidArgument,
                "column {}: columns count from 1 to {}", file.alignment_column, kMaxColumns);
  core::require(file.alignment_column == 0 ||
                    (file.alignment_column != file.source_column && file.alignment_column != file.target_column),
                ErrorCode::kInvalidArgument, "alignments and a text are both column {}", file.alignment_column);
  core::require(
      file.alignment_key.empty() || (file.alignment_key != file.source_key && file.alignment_key != file.target_key),
      ErrorCode::kInvalidArgument, "alignments need a key of their own");
}

}  // namespace

void check(const PairFile& file) {
  core::require(!file.source.empty() && (file.format != PairFormat::kText || !file.target.empty()),
                ErrorCode::kInvalidArgument, "a text needs the names of its files");
  const int pipes = (file.source == "-" ? 1 : 0) + (file.target == "-" ? 1 : 0) + (file.alignment == "-" ? 1 : 0);
  if (file.format == PairFormat::kText)
    core::require(pipes <= 1, ErrorCode::kInvalidArgument, "{} cannot both be standard input",
                  file.alignment == "-" ? "a text and its alignments" : "source and target");
  else
    core::require(file.target.empty(), ErrorCode::kInvalidArgument, "{}: a file of both sides has no file of targets",
                  core::quote(file.source));
  if (file.format == PairFormat::kTsv) {
    for (const std::uint64_t column : {file.source_column, file.target_column})
      core::require(column >= 1 && column <= kMaxColumns, ErrorCode::kInvalidArgument,
                    "column {}: columns count from 1 to {}", column, kMaxColumns);
    core::require(file.source_column != file.target_column, ErrorCode::kInvalidArgument,
                  "source and target are both column {}", file.source_column);
  }
  if (file.format == PairFormat::kJsonl)
    core::require(!file.source_key.empty() && !file.target_key.empty() && file.source_key != file.target_key,
                  ErrorCode::kInvalidArgument, "source and target need keys of their own");
  check_alignment(file);
}

void PairParser::parse(const RawPairs& raw, std::size_t i, ParsedPair& pair) const {
  pair.problem.clear();
  switch (file_.format) {
    case PairFormat::kText:
      pair.source = raw.line(i);
      pair.target = raw.target_line(i);
      pair.alignment = raw.alignment_line(i);
      return;
    case PairFormat::kTsv:
      return parse_columns(raw.line(i), pair);
    case PairFormat::kJsonl:
      return parse_object(raw.line(i), pair);
  }
}

void PairParser::parse_columns(std::string_view line, ParsedPair& pair) const {
  pair.source.clear();
  pair.target.clear();
  pair.alignment.clear();
  const auto columns = static_cast<std::uint64_t>(std::ranges::count(line, '\t')) + 1;
  const std::uint64_t last = std::max({file_.source_column, file_.target_column, file_.alignment_column});
  if (columns < last || (columns_ != 0 && columns != columns_)) {
    pair.problem = columns < last ? fmt::format("{} columns, but column {} is asked for", columns, last)
                                  : fmt::format("{} columns, but the first line has {}", columns, columns_);
    return;
  }
  std::size_t begin = 0;
  for (std::uint64_t column = 1; column <= last; ++column) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    if (column == file_.source_column) pair.source = line.substr(begin, end - begin);
    if (column == file_.target_column) pair.target = line.substr(begin, end - begin);
    if (column == file_.alignment_column) pair.alignment = line.substr(begin, end - begin);
    begin = end + 1;
  }
}

void PairParser::parse_object(std::string_view line, ParsedPair& pair) const {
  pair.source.clear();
  pair.target.clear();
  pair.alignment.clear();
  const core::ParsedJson parsed = core::try_parse_json(line);
  if (!parsed.problem.empty()) {
    pair.problem = fmt::format("{} at byte {}", parsed.problem, parsed.position + 1);
    return;
  }
  if (!parsed.tree.is_object()) {
    pair.problem = "not a JSON object";
    return;
  }
  for (const auto& [key, text] :
       {std::pair(&file_.source_key, &pair.source), std::pair(&file_.target_key, &pair.target),
        std::pair(&file_.alignment_key, &pair.alignment)}) {
    if (key->empty()) continue;  // no alignments
    const Json* const value = find_value(parsed.tree, *key);
    if (value != nullptr && value->is_string()) {
      *text = value->get_ref<const std::string&>();
      // Every output format has one line for each text.
      std::ranges::replace_if(
          *text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
      continue;
    }
    pair.problem = fmt::format("no text under the key {}", core::quote(*key));
    return;
  }
}

PairReader::PairReader(PairFile file, std::stop_token stop)
    : file_(checked(std::move(file))), source_(std::filesystem::path(file_.source), stop), parser_(file_) {
  if (file_.format == PairFormat::kText) target_.emplace(std::filesystem::path(file_.target), stop);
  if (!file_.alignment.empty()) alignment_.emplace(std::filesystem::path(file_.alignment), std::move(stop));
}

bool PairReader::next_line() {
  const bool more = source_.next(line_);
  if (target_ && target_->next(target_line_) != more) fail_unequal(more);
  if (alignment_ && alignment_->next(alignment_line_) != more) fail_unequal_alignment(more);
  if (!more) return false;
  drop_carriage_return(line_);
  drop_carriage_return(target_line_);
  drop_carriage_return(alignment_line_);
  // The first line determines the number of columns of all lines.
  if (file_.format == PairFormat::kTsv && source_.line_number() == 1)
    parser_ = PairParser(file_, static_cast<std::uint64_t>(std::ranges::count(line_, '\t')) + 1);
  return true;
}

void PairReader::fail_unequal(bool source_goes_on) {
  const std::uint64_t source_lines = source_goes_on ? count_to_end(source_) : source_.line_number();
  const std::uint64_t target_lines = source_goes_on ? target_->line_number() : count_to_end(*target_);
  core::fail(ErrorCode::kBadInput, "{} has {} lines, but {} has {}; parallel files need equal numbers of lines",
             source_.name(), source_lines, target_->name(), target_lines);
}

void PairReader::fail_unequal_alignment(bool source_goes_on) {
  const std::uint64_t source_lines = source_goes_on ? count_to_end(source_) : source_.line_number();
  const std::uint64_t lines = source_goes_on ? alignment_->line_number() : count_to_end(*alignment_);
  core::fail(ErrorCode::kBadInput, "{} has {} lines, but {} has {}; there must be a line of alignments for each pair",
             source_.name(), source_lines, alignment_->name(), lines);
}

std::optional<RawPairs> PairReader::read(std::size_t bytes) {
  RawPairs raw;
  raw.first_line_ = source_.line_number() + 1;
  while (raw.bytes() + raw.size() < std::max(bytes, std::size_t{1}) && next_line()) {
    raw.lines_ += line_;
    raw.ends_.push_back(raw.lines_.size());
    raw.target_lines_ += target_line_;
    raw.target_ends_.push_back(raw.target_lines_.size());
    if (!alignment_) continue;
    raw.alignment_lines_ += alignment_line_;
    raw.alignment_ends_.push_back(raw.alignment_lines_.size());
  }
  if (raw.size() == 0) return std::nullopt;
  return raw;
}

bool PairReader::next(ParsedPair& pair) {
  if (!next_line()) return false;
  one_.lines_.swap(line_);
  one_.target_lines_.swap(target_line_);
  one_.ends_.assign(1, one_.lines_.size());
  one_.target_ends_.assign(1, one_.target_lines_.size());
  if (alignment_) {
    one_.alignment_lines_.swap(alignment_line_);
    one_.alignment_ends_.assign(1, one_.alignment_lines_.size());
  }
  parser_.parse(one_, 0, pair);
  if (!pair.problem.empty()) core::fail(ErrorCode::kBadInput, "{}: {}", place_of(source_.line_number()), pair.problem);
  return true;
}

void PairReader::skip(std::uint64_t lines) {
  while (lines > 0 && next_line()) --lines;
}

std::string PairReader::name() const {
  return target_ ? fmt::format("{} and {}", source_.name(), target_->name()) : source_.name();
}

std::string PairReader::place_of(std::uint64_t line) const {
  return fmt::format("{}: line {}", source_.name(), line);
}

std::string PairReader::place_of_alignment(std::uint64_t line) const {
  return fmt::format("{}: line {}", alignment_ ? alignment_->name() : source_.name(), line);
}

std::uint64_t PairReader::bytes_from_disk() const noexcept {
  return source_.bytes_from_disk() + (target_ ? target_->bytes_from_disk() : 0);
}

std::uint64_t PairReader::size_on_disk() const noexcept {
  if (!target_) return source_.size_on_disk();
  const bool known = source_.size_on_disk() > 0 && target_->size_on_disk() > 0;
  return known ? source_.size_on_disk() + target_->size_on_disk() : 0;
}

}  // namespace dragoman::corpus
