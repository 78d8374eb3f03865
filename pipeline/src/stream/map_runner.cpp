#include "map_runner.h"

#include <algorithm>
#include <optional>
#include <span>

#include <dragoman/core/in_order.h>

namespace dragoman::pipeline {
namespace {

using Batch = std::vector<Record>;

/// The maximum number of records that stages get together, even if a stage accepts more. It bounds the memory.
constexpr std::size_t kMaxBatch = 1024;

/// The records that the stages get together: those that are there, up to `most`.
std::optional<Batch> next_batch(RecordSource& source, std::size_t most) {
  std::optional<Record> record = source.next();
  if (!record) return std::nullopt;
  Batch batch;
  batch.push_back(std::move(*record));
  while (batch.size() < most && (record = source.next_ready())) batch.push_back(std::move(*record));
  return batch;
}

void apply(const MapStage& stage, Batch& batch) {
  std::vector<Record*> good;
  for (Record& record : batch)
    if (!record.failed()) good.push_back(&record);
  const std::size_t most = std::max<std::size_t>(stage.batch_size(), 1);
  for (std::size_t i = 0; i < good.size(); i += most)
    stage.process_batch(std::span(good).subspan(i, std::min(most, good.size() - i)));
}

}  // namespace

void run_maps(const std::vector<std::unique_ptr<const MapStage>>& stages, int threads, RecordSource& source,
              RecordSink& sink, const std::stop_source& stop) {
  std::size_t most = 1;
  for (const auto& stage : stages) most = std::max(most, std::min(stage->batch_size(), kMaxBatch));
  const auto read = [&] { return next_batch(source, most); };
  const auto process = [&](Batch& batch) {
    for (const auto& stage : stages) apply(*stage, batch);
    return std::move(batch);
  };
  const auto write = [&](Batch batch) {
    return std::ranges::all_of(batch, [&](Record& record) { return sink.put(std::move(record)); });
  };
  const auto executor = core::make_executor(stages.empty() ? 1 : threads);
  core::process_in_order<Batch, Batch>(*executor, stop, read, process, write);
}

}  // namespace dragoman::pipeline
