#pragma once

#include <string>

/// CUDA's runtime on a machine without a GPU: the functions that plugins/cuda/hardware calls, over emulated devices
/// (cuda_emulation). Programs link it instead of libcudart, so that the backend's own calls are tested.
///
/// Streams are lazy (set_lazy_streams()): work runs when a thread waits for it. Errors that CUDA leaves to chance
/// therefore occur every time:
///
/// - device memory that is freed while another stream uses it, because cudaFree() does not wait;
/// - pinned memory that is changed or freed while a copy is in progress;
/// - work of another thread that no thread has waited for.
///
/// Calls that a capture prohibits fail and end the captures, according to the CUDA Programming Guide (Prohibited and
/// Unhandled Operations; Handling captures across threads): unsafe calls, waiting for the device, the legacy stream.
namespace dragoman::testing::fake_cuda {

/// Sets the number of devices. Call it before the first call of CUDA.
void set_devices(int count);
/// Returns the current fault, and clears it; empty if there is none. After an illegal access all calls fail, as in
/// CUDA.
std::string take_fault();
/// Lets the next `count` captures fail: when they begin or end, or when their graph is instantiated.
enum class CaptureFailure { kBegin, kEnd, kInstantiation };
void fail_captures(int count, CaptureFailure how);
/// The number of captures that have failed in this way.
int failed_captures();
/// Return the number of allocations of device memory and of pinned memory that have not been freed.
int allocations();
int pinned_allocations();

}  // namespace dragoman::testing::fake_cuda
