#pragma once

#include "steps/graph_recorder.h"

namespace dragoman::backend::cuda {

/// CUDA's capture of the calling thread's stream, in its thread-local mode: what other threads do is their own affair.
std::unique_ptr<LaunchCapture> make_stream_capture(int device);

}  // namespace dragoman::backend::cuda
