#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <dragoman/core/json_fwd.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

/// A stage that turns one record into one record. It keeps no state between records, so any number of threads may run
/// it, on records in any order.
///
///     class Shout final : public MapStage {
///      public:
///       explicit Shout(core::OptionReader& options) : mark_(options.get("mark", "!")) {}
///       void process(Record& record) const override { record.text += mark_; }
///
///      private:
///       std::string mark_;
///     };
///     const StageFactory factory = [](core::OptionReader& options) { return std::make_unique<Shout>(options); };
///
/// The pipeline owns its stages.
class MapStage {
 public:
  virtual ~MapStage();
  /// Changes the record in place. Several threads may call it concurrently. It is never called with a failed record.
  /// Report errors that concern one record with Record::mark_failed(); an exception ends the whole run.
  virtual void process(Record& record) const = 0;
  /// Changes several records in place, none of which has failed. Calls process() for each; override it, and
  /// batch_size(), where one call for many costs less.
  virtual void process_batch(std::span<Record* const> records) const;
  /// The largest number of records of a batch. Records that are there already make a batch; none is waited for.
  virtual std::size_t batch_size() const { return 1; }
};

/// Names that no registered stage can have, because pipelines have built-in stages of these names.
inline constexpr std::array<std::string_view, 7> kBuiltInStageNames = {"read",   "normalize", "split", "translate",
                                                                       "encode", "decode",    "write"};

/// Creates a stage from its options in the pipeline's configuration. The caller calls options.finish(), so a key that
/// the factory did not read is an error. A '-' in a key is read as '_', so read options by names with '_'.
using StageFactory = std::function<std::unique_ptr<MapStage>(core::OptionReader& options)>;

}  // namespace dragoman::pipeline
