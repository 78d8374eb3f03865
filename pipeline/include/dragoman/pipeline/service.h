#pragma once

#include <optional>
#include <stop_token>

#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

/// Where a stage gets its records from. One thread.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Waits for the next record; nothing at the end.
  virtual std::optional<Record> next() = 0;
};

/// Where a stage's records go. One thread.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Waits for room.
  virtual void put(Record record) = 0;
};

/// A stage that takes several records at a time and has threads of its own. It hands on every record, in the order in
/// which they came.
class Service {
 public:
  virtual ~Service() = default;
  /// Returns when the source has ended and everything has been handed on, or soon after a stop was requested.
  virtual void run(RecordSource& source, RecordSink& sink, const std::stop_token& stop) = 0;
  /// Adds what is worth telling about the lines of all runs so far.
  virtual void add_counts(LineCounts& counts) const { static_cast<void>(counts); }
};

}  // namespace dragoman::pipeline
