#pragma once

#include <memory>
#include <vector>

#include <dragoman/pipeline/service.h>
#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {

/// Runs every record through the stages one after the other, several records at a time, and hands them on in order.
/// Failed records pass untouched.
void run_maps(const std::vector<std::unique_ptr<const MapStage>>& stages, int threads, RecordSource& source,
              RecordSink& sink);

}  // namespace dragoman::pipeline
