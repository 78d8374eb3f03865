#include "pair_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/json.h>

namespace dragoman::corpus {
namespace {

core::OutputOptions output_options(const std::stop_token& stop) {
  return {.partial = core::PartialPolicy::kTemporary, .stop = stop};
}

/// Appends one cell. A tab in the text would start another cell, so it is replaced.
void append_cell(std::string& line, std::string_view text) {
  const std::size_t begin = line.size();
  line += text;
  std::replace(line.begin() + static_cast<std::ptrdiff_t>(begin), line.end(), '\t', ' ');
}

bool is_jsonl(const std::string& path) {
  for (const std::string_view suffix : {".jsonl", ".jsonl.gz", ".jsonl.zst"})
    if (path.ends_with(suffix)) return true;
  return false;
}

}  // namespace

PairWriter::PairWriter(const PairOutput& output, const std::stop_token& stop) : format_(output.format) {
  if (output.empty()) return;
  source_.emplace(output.source, output_options(stop));
  if (format_ == PairFormat::kText) target_.emplace(output.target, output_options(stop));
}

void PairWriter::write(std::string_view source, std::string_view target) {
  ++pairs_;
  if (!source_) return;
  line_.clear();
  switch (format_) {
    case PairFormat::kText:
      line_.append(source).push_back('\n');
      source_->write(line_);
      line_.assign(target).push_back('\n');
      target_->write(line_);
      return;
    case PairFormat::kTsv:
      append_cell(line_, source);
      line_.push_back('\t');
      append_cell(line_, target);
      break;
    case PairFormat::kJsonl:
      line_ = fmt::format("{{\"source\":{},\"target\":{}}}", core::one_line(core::Json(source)),
                          core::one_line(core::Json(target)));
      break;
  }
  line_.push_back('\n');
  source_->write(line_);
}

void PairWriter::complete() {
  if (source_) source_->complete();
  if (target_) target_->complete();
}

void PairWriter::add_files(std::vector<core::OutputFile*>& files) {
  if (source_) files.push_back(&*source_);
  if (target_) files.push_back(&*target_);
}

RejectionWriter::RejectionWriter(const std::string& path, const std::stop_token& stop) : as_json_(is_jsonl(path)) {
  if (!path.empty()) file_.emplace(path, output_options(stop));
}

void RejectionWriter::write(const RejectedPair& pair) {
  if (!file_) return;
  std::string line;
  if (as_json_) {
    core::Json object{{"reason", name_of(pair.reason)},
                      {"file", pair.file},
                      {"line", pair.line},
                      {"source", pair.source},
                      {"target", pair.target}};
    if (!pair.problem.empty()) object["problem"] = pair.problem;
    line = core::one_line(object);
  } else {
    line = name_of(pair.reason);
    line.push_back('\t');
    append_cell(line, pair.file);
    line += fmt::format("\t{}\t", pair.line);
    append_cell(line, pair.source);
    line.push_back('\t');
    append_cell(line, pair.problem.empty() ? pair.target : pair.problem);
  }
  line.push_back('\n');
  file_->write(line);
}

void RejectionWriter::complete() {
  if (file_) file_->complete();
}

void RejectionWriter::add_files(std::vector<core::OutputFile*>& files) {
  if (file_) files.push_back(&*file_);
}

}  // namespace dragoman::corpus
