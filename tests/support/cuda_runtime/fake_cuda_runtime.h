#pragma once

#include <string>

/// CUDA's runtime on a machine without a GPU: the functions that plugins/cuda/hardware calls, over emulated devices
/// (cuda_emulation). Programs link it in place of libcudart, so that the backend's own calls are tested.
///
/// A stream is lazy (set_lazy_streams()): work runs when somebody waits for it. So what CUDA leaves to chance goes
/// wrong every time:
///
///  - memory of the device that is freed while another stream has work with it, since cudaFree() waits for nothing;
///  - pinned memory that is changed or freed while a copy is under way;
///  - work of another thread that nobody has waited for.
///
/// Calls that a capture forbids fail and end the captures, as the CUDA Programming Guide has it (Prohibited and
/// Unhandled Operations; Handling captures across threads): unsafe calls, waiting for the device, the legacy stream.
namespace dragoman::testing::fake_cuda {

/// How many devices there are; before the first call of CUDA.
void set_devices(int count);
/// After an illegal access all calls fail, as with CUDA. Returns what it was, and begins anew; empty if there was none.
std::string take_fault();
/// How many allocations of the device's and of pinned memory have not been freed.
int allocations();
int pinned_allocations();

}  // namespace dragoman::testing::fake_cuda
