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

/// The source of a stage's records. Used by one thread.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Waits for the next record. nullopt at the end, or soon after a stop request of the run.
  virtual std::optional<Record> next() = 0;
  /// Returns the next record if it is there already; never waits.
  virtual std::optional<Record> next_ready() { return std::nullopt; }
};

/// The destination of a stage's records. Used by one thread.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Waits for room and passes a record on. Returns false if no more records are accepted: the stage then ends, without
  /// an error of its own.
  [[nodiscard]] virtual bool put(Record record) = 0;
  /// Returns whether the sink uses put_beginning().
  virtual bool takes_beginnings() const { return false; }
  /// Passes on the next part of the beginning of the next record's text. Returns false as put() does.
  [[nodiscard]] virtual bool put_beginning(std::string_view more) {
    static_cast<void>(more);
    return true;
  }
};

/// A stage that processes several records at a time and has its own threads. It passes on every record, in input order.
/// The pipeline owns it and calls run() on a thread for each stage. An exception of run() ends the whole run.
class Service {
 public:
  virtual ~Service() = default;
  /// Returns when the source has ended and all records have been passed on, when the sink accepts no more, or soon
  /// after `stop` was requested. `stop` belongs to the whole run. If a thread of a service fails, the service requests
  /// the stop, because its source may be waiting for input that never comes.
  virtual void run(RecordSource& source, RecordSink& sink, std::stop_source stop) = 0;
  /// Adds the statistics about the lines of all runs so far.
  virtual void add_counts(LineCounts& counts) const { static_cast<void>(counts); }
  /// Adds figures of all runs so far, by name, for the last report of progress.
  virtual void add_figures(std::vector<std::pair<std::string, double>>& figures) const { static_cast<void>(figures); }
};

}  // namespace dragoman::pipeline
