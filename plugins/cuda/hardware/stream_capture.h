#pragma once

#include "steps/graph_recorder.h"

#include <dragoman/backend_cuda/memory_use.h>

namespace dragoman::backend::cuda {

/// CUDA's capture of the calling thread's stream, in its thread-local mode: what other threads do is their own affair.
/// Graphs count in `use`, which outlives the capture and its graphs.
std::unique_ptr<LaunchCapture> make_stream_capture(int device, MemoryUse& use);

}  // namespace dragoman::backend::cuda
