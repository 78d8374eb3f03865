#include "extension_checks.h"

#include <exception>
#include <thread>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/utf8.h>

namespace dragoman::plugins {
namespace {

using pipeline::Record;

constexpr int kStageThreads = 4;

std::vector<Record> example_records() {
  std::vector<Record> records;
  for (const std::string& text :
       {std::string(), std::string(" "), std::string("Ein Satz."), std::string("  zwei\tBlanks  "),
        std::string("\xC3\xBC"
                    "ber \xE2\x80\x94 \xF0\x9F\x9A\x80"),
        std::string(10000, 'a')}) {
    Record& record = records.emplace_back();
    record.line = records.size();
    record.text = text;
  }
  return records;
}

std::string complaint_about(const Record& record, std::uint64_t line) {
  if (record.line != line) return fmt::format("record {} has become record {}: the order is lost", line, record.line);
  if (record.text.find('\n') != std::string::npos) return fmt::format("record {} has a line ending in its text", line);
  if (core::find_invalid_utf8(record.text) != std::string_view::npos)
    return fmt::format("record {} is not valid UTF-8 any more", line);
  if (!record.fields.is_object()) return fmt::format("the fields of record {} are no object", line);
  return {};
}

bool same(const Record& a, const Record& b) {
  return a.text == b.text && a.fields == b.fields && a.status == b.status && a.message == b.message;
}

/// Processes the records on several threads concurrently and returns each thread's results.
std::vector<std::vector<Record>> process_on_threads(const pipeline::MapStage& stage) {
  std::vector<std::vector<Record>> copies(kStageThreads, example_records());
  std::vector<std::exception_ptr> errors(kStageThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kStageThreads; ++t)
      threads.emplace_back([&stage, &copies, &errors, t] {
        try {
          for (Record& record : copies[t]) stage.process(record);
        } catch (...) {
          errors[t] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return copies;
}

std::string complaint_about(const pipeline::MapStage& stage) {
  const std::vector<std::vector<Record>> copies = process_on_threads(stage);
  for (const std::vector<Record>& records : copies) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      std::string complaint = complaint_about(records[i], i + 1);
      if (!complaint.empty()) return complaint;
      if (!same(records[i], copies.front()[i]))
        return fmt::format("record {} is not the same on every thread: the stage keeps something between records",
                           i + 1);
    }
  }
  return {};
}

}  // namespace

Verdict check_stage(const StageEntry& entry) {
  Verdict verdict{entry.name, "-", "stage", true, {}};
  const core::Json none = core::Json::object();
  std::unique_ptr<pipeline::MapStage> stage;
  try {
    core::OptionReader options(none, "options");
    stage = entry.make(options);
  } catch (const core::Error& error) {
    verdict.detail = fmt::format("not run, since it cannot be made without options: {}", error.what());
    return verdict;
  }
  std::string complaint;
  try {
    complaint = complaint_about(*stage);
  } catch (const std::exception& error) {
    complaint =
        fmt::format("threw: {}; one bad record would end a whole run, so use Record::mark_failed()", error.what());
  }
  verdict.passed = complaint.empty();
  verdict.detail = verdict.passed ? "order, UTF-8 and fields are kept; equal results on every thread" : complaint;
  return verdict;
}

}  // namespace dragoman::plugins
