#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/core/text_range.h>

namespace dragoman::pipeline {

/// The outcome of a record. A failed record keeps its place, so that output lines stay aligned with input lines.
enum class RecordStatus : std::uint8_t { kGood, kFailed };

using core::TextRange;

/// The unit of a pipeline: one line of input, and the results of the stages so far. A plain value, which belongs to one
/// stage at a time.
///
///     Record record;
///     record.text = "Guten Morgen!";
///     record.fields["domain"] = "greeting";
struct Record {
  /// The number of the input line, from 1. Stages must not change it, because it restores the order.
  std::uint64_t line = 0;
  /// The text, valid UTF-8, without a line ending.
  std::string text;
  /// The sentences of the text, ascending and disjoint, if a stage has split it. `translate` translates each one
  /// separately and keeps the text between them. Empty: the text is one sentence. A stage that changes the text must
  /// clear or update them.
  std::vector<TextRange> sentences;
  /// Further data by name: the other columns of a table, the other keys of a JSON line, scores, alignments. Always an
  /// object.
  core::Json fields = core::Json::object();
  RecordStatus status = RecordStatus::kGood;
  /// One line with the reason for kFailed; otherwise empty.
  std::string message;

  /// Marks the record as failed. Later stages pass it on unchanged.
  void mark_failed(std::string why) {
    status = RecordStatus::kFailed;
    message = std::move(why);
  }
  bool failed() const noexcept { return status == RecordStatus::kFailed; }

  /// Returns the approximate memory size in bytes, fields included. Queues are limited by it.
  std::size_t weight() const;
};

}  // namespace dragoman::pipeline
