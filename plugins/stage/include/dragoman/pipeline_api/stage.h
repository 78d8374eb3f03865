#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include <dragoman/core/json_fwd.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

/// A stage that turns one record into one record. It keeps nothing from record to record, so any number of threads may
/// run it, on records in any order.
class MapStage {
 public:
  virtual ~MapStage();
  /// Changes the record in place. Called at the same time from several threads; never with a failed record. What one
  /// record makes impossible is told by Record::mark_failed(); an exception ends the whole run.
  virtual void process(Record& record) const = 0;
};

/// Names that no registered stage can have: those of the stages that pipelines have of themselves.
inline constexpr std::array<std::string_view, 7> kBuiltInStageNames = {"read",   "normalize", "split", "translate",
                                                                       "encode", "decode",    "write"};

/// Makes a stage from its options in the pipeline's configuration. The caller finish()es the reader, so a key that the
/// factory did not ask for is an error. A '-' in a key reads as '_', so options are asked for with '_'.
using StageFactory = std::function<std::unique_ptr<MapStage>(core::OptionReader& options)>;

}  // namespace dragoman::pipeline
