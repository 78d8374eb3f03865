#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

/// Where a stage gets its records from. One thread.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Waits for the next record; nothing at the end, or soon after the run's stop was requested.
  virtual std::optional<Record> next() = 0;
};

/// Where a stage's records go. One thread.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Waits for room. False if nobody takes records any more: the stage then ends, without an error of its own.
  [[nodiscard]] virtual bool put(Record record) = 0;
  /// Whether it has use for put_beginning().
  virtual bool takes_beginnings() const { return false; }
  /// The text of the record that is put next will begin with what all calls since the last put() gave. False as put().
  [[nodiscard]] virtual bool put_beginning(std::string_view more) {
    static_cast<void>(more);
    return true;
  }
};

/// A stage that takes several records at a time and has threads of its own. It hands on every record, in the order in
/// which they came.
class Service {
 public:
  virtual ~Service() = default;
  /// Returns when the source has ended and everything has been handed on, when the sink takes no more, or soon after
  /// `stop` was requested. `stop` is that of the whole run: a service with threads of its own requests it when one of
  /// them fails, since its source may be waiting for input that never comes.
  virtual void run(RecordSource& source, RecordSink& sink, std::stop_source stop) = 0;
  /// Adds what is worth telling about the lines of all runs so far.
  virtual void add_counts(LineCounts& counts) const { static_cast<void>(counts); }
  /// Adds figures of all runs so far, by name, for the last report of progress.
  virtual void add_figures(std::vector<std::pair<std::string, double>>& figures) const { static_cast<void>(figures); }
};

}  // namespace dragoman::pipeline
