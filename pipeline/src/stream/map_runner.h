#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include <dragoman/pipeline/service.h>
#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {

/// Applies the stages, in order, to each record of the source, with several records at a time, and passes the results
/// on in order. Ends early if the sink accepts no more. An exception of a stage requests `stop`, so that a waiting
/// source ends, too.
void run_maps(const std::vector<std::unique_ptr<const MapStage>>& stages, int threads, RecordSource& source,
              RecordSink& sink, const std::stop_source& stop);

}  // namespace dragoman::pipeline
