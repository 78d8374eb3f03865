#include "map_runner.h"

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

namespace dragoman::pipeline {
namespace {

void process(const std::vector<std::unique_ptr<const MapStage>>& stages, Record& record) {
  for (const auto& stage : stages) {
    if (record.failed()) return;
    stage->process(record);
  }
}

}  // namespace

void run_maps(const std::vector<std::unique_ptr<const MapStage>>& stages, int threads, RecordSource& source,
              RecordSink& sink) {
  if (stages.empty() || threads <= 1) {
    while (std::optional<Record> record = source.next()) {
      process(stages, *record);
      sink.put(std::move(*record));
    }
    return;
  }
  // One token per slot: a record on its way for each thread, so that a slow input is not held back by a batch that
  // fills.
  const auto tokens = static_cast<std::size_t>(2 * threads);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_pipeline(
        tokens,
        tbb::make_filter<void, std::shared_ptr<Record>>(tbb::filter_mode::serial_in_order,
                                                        [&](tbb::flow_control& control) -> std::shared_ptr<Record> {
                                                          std::optional<Record> record = source.next();
                                                          if (!record) {
                                                            control.stop();
                                                            return nullptr;
                                                          }
                                                          return std::make_shared<Record>(std::move(*record));
                                                        }) &
            tbb::make_filter<std::shared_ptr<Record>, std::shared_ptr<Record>>(tbb::filter_mode::parallel,
                                                                               [&](std::shared_ptr<Record> record) {
                                                                                 process(stages, *record);
                                                                                 return record;
                                                                               }) &
            tbb::make_filter<std::shared_ptr<Record>, void>(
                tbb::filter_mode::serial_in_order,
                [&](const std::shared_ptr<Record>& record) { sink.put(std::move(*record)); }));
  });
}

}  // namespace dragoman::pipeline
