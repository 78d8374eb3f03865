#include "options/lines/line_pairs.h"

#include <functional>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::cli {
namespace {

using core::ErrorCode;

std::string_view column_of(std::string_view line, std::uint64_t column, const std::string& where) {
  std::size_t begin = 0;
  for (std::uint64_t i = 1; i < column; ++i) {
    const std::size_t tab = line.find('\t', begin);
    if (tab == line.npos)
      core::fail(ErrorCode::kBadInput, "{}: {} columns, but column {} is asked for", where, i, column);
    begin = tab + 1;
  }
  return line.substr(begin, line.find('\t', begin) - begin);
}

std::string value_of(const core::Json& object, const std::string& key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    core::fail(ErrorCode::kBadInput, "{}: no text under the key {}", where, core::quote(key));
  return found->get<std::string>();
}

void split_line(const PairFields& fields, pipeline::LinePair& pair) {
  // The end of the line does not belong to its last column.
  std::string line = std::exchange(pair.source, {});
  pipeline::clean_line(line);
  if (fields.format == pipeline::RecordFormat::kTsv) {
    pair.source = column_of(line, fields.source_column, pair.where);
    pair.target = column_of(line, fields.target_column, pair.where);
    return;
  }
  const core::ParsedJson parsed = core::try_parse_json(line);
  if (!parsed.problem.empty())
    core::fail(ErrorCode::kBadInput, "{}: {} at byte {}", pair.where, parsed.problem, parsed.position + 1);
  if (!parsed.tree.is_object()) core::fail(ErrorCode::kBadInput, "{}: not a JSON object", pair.where);
  pair.source = value_of(parsed.tree, fields.source_key, pair.where);
  pair.target = value_of(parsed.tree, fields.target_key, pair.where);
}

}  // namespace

LinePairReader::LinePairReader(const std::string& source, const std::string& target, const std::stop_token& stop)
    : sources_(source, stop), targets_(target.empty() ? nullptr : std::make_unique<core::LineReader>(target, stop)) {}

LinePairReader::LinePairReader(const std::string& path, PairFields fields, const std::stop_token& stop)
    : sources_(path, stop), fields_(std::move(fields)) {}

bool LinePairReader::next_lines(std::string& source, std::string& target) {
  const bool have_source = sources_.next(source);
  const bool have_target = targets_ ? targets_->next(target) : have_source;
  if (have_source != have_target) {
    const core::LineReader& shorter = have_source ? *targets_ : sources_;
    const core::LineReader& longer = have_source ? sources_ : *targets_;
    core::fail(core::ErrorCode::kBadInput, "{} ends after {} lines but {} goes on; they must be parallel",
               shorter.name(), shorter.line_number(), longer.name());
  }
  if (!have_source) return false;
  hash_ = core::fingerprint_of_line(source, hash_);
  if (targets_) hash_ = core::fingerprint_of_line(target, hash_);
  return true;
}

void LinePairReader::skip(std::uint64_t lines) {
  std::string source;
  std::string target;
  for (std::uint64_t i = 0; i < lines; ++i)
    core::require(next_lines(source, target), ErrorCode::kBadInput,
                  "{}: has {} lines, but the partial output already has more; is it another input?", sources_.name(),
                  sources_.line_number());
}

bool LinePairReader::next(pipeline::LinePair& pair) {
  if (!next_lines(pair.source, pair.target)) return false;
  for (const std::string& line : {std::cref(pair.source), std::cref(pair.target)})
    if (core::find_invalid_utf8(line) != std::string::npos) ++counts_.with_invalid_utf8;
  pair.where = fmt::format("{}: line {}", sources_.name(), sources_.line_number());
  if (fields_) split_line(*fields_, pair);
  return true;
}

bool LinePairReader::read(std::vector<pipeline::LinePair>& pairs, std::size_t bytes) {
  for (std::size_t taken = 0; taken < bytes;) {
    pipeline::LinePair pair;
    if (!next(pair)) return false;
    taken += pair.source.size() + pair.target.size() + 1;
    pairs.push_back(std::move(pair));
  }
  return true;
}

}  // namespace dragoman::cli
