#include "map_runner.h"

#include <dragoman/core/in_order.h>

namespace dragoman::pipeline {

void run_maps(const std::vector<std::unique_ptr<const MapStage>>& stages, int threads, RecordSource& source,
              RecordSink& sink, const std::stop_source& stop) {
  const auto read = [&] { return source.next(); };
  const auto process = [&](Record& record) {
    for (const auto& stage : stages)
      if (!record.failed()) stage->process(record);
    return std::move(record);
  };
  const auto write = [&](Record record) { return sink.put(std::move(record)); };
  const auto executor = core::make_executor(stages.empty() ? 1 : threads);
  core::process_in_order<Record, Record>(*executor, stop, read, process, write);
}

}  // namespace dragoman::pipeline
