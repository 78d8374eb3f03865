#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/core/text_range.h>

namespace dragoman::pipeline {

/// What became of a record. A failed one keeps its place, so that output lines stay where their input lines were.
enum class RecordStatus : std::uint8_t { kGood, kFailed };

using core::TextRange;

/// What travels through a pipeline: one line of input, and what the stages have made of it so far.
struct Record {
  /// Number of the input line, from 1. Stages leave it alone: order is restored by it.
  std::uint64_t line = 0;
  /// The text itself, valid UTF-8, without a line ending.
  std::string text;
  /// The sentences of the text, rising and disjoint, if a stage has looked for them. `translate` translates each by
  /// itself and keeps what lies between them. Empty: the text is one sentence. A stage that changes the text clears or
  /// updates them.
  std::vector<TextRange> sentences;
  /// All else that is known, by name: the other columns of a table, the other keys of a JSON line, scores, alignments.
  /// Always an object.
  core::Json fields = core::Json::object();
  RecordStatus status = RecordStatus::kGood;
  /// One line that says why the status is kFailed; else empty.
  std::string message;

  /// Later stages pass a failed record on untouched.
  void mark_failed(std::string why) {
    status = RecordStatus::kFailed;
    message = std::move(why);
  }
  bool failed() const noexcept { return status == RecordStatus::kFailed; }

  /// About how many bytes of memory it takes, fields included: what queues are bounded by.
  std::size_t weight() const;
};

}  // namespace dragoman::pipeline
