#pragma once

#include <cuda_runtime_api.h>

/// The captures that are under way, of all threads, and what they forbid.
namespace dragoman::testing::fake_cuda {

enum class Call {
  kUnsafe,        ///< may touch what a capture needs: allocating, freeing
  kDeviceWait,    ///< waits for all streams of the device, those that are captured among them
  kStreamWait,    ///< waits for the calling thread's stream
  kLegacyStream,  ///< orders itself with all streams of the device
};

void begin_capture(cudaStreamCaptureMode mode);
/// Of the calling thread. Returns whether nothing has ended it before.
bool end_capture();
/// Whether the calling thread may do that now. If not, the captures that forbid it are at their end.
bool allowed(Call call);
/// Whether it is an error that a capture causes.
bool is_of_capture(cudaError_t error);

}  // namespace dragoman::testing::fake_cuda
