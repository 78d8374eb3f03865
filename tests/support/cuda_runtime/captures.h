#pragma once

#include <cuda_runtime_api.h>

/// The active captures of all threads, and the calls that they prohibit.
namespace dragoman::testing::fake_cuda {

enum class Call {
  kUnsafe,        ///< may change what a capture needs: allocating, freeing
  kDeviceWait,    ///< waits for all streams of the device, including captured ones
  kStreamWait,    ///< waits for the calling thread's stream
  kLegacyStream,  ///< synchronises with all streams of the device
};

void begin_capture(cudaStreamCaptureMode mode);
/// Ends the capture of the calling thread. Returns whether no error has ended it before.
bool end_capture();
/// Returns whether the calling thread may make the call now. If not, the captures that prohibit it are ended.
bool allowed(Call call);
/// Returns whether a capture causes this error.
bool is_of_capture(cudaError_t error);

}  // namespace dragoman::testing::fake_cuda
