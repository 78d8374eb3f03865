#pragma once

#include "emulated_backend.h"
#include "nccl/nccl_links.h"

#include <memory>

namespace dragoman::testing {

/// Creates links between emulated devices with the tests' libnccl.so.2 (fake_nccl), which `load` has opened; `file` is
/// its path. All arguments must outlive the result.
std::unique_ptr<collective::DeviceLinks> make_emulated_links(const backend::cuda::NcclLoad& load, const char* file,
                                                             EmulatedCuda& backend,
                                                             const collective::LinkRequest& request);
/// Creates only a queue of such a device.
std::unique_ptr<backend::cuda::LinkQueue> make_emulated_queue(const char* file, EmulatedCuda& backend, int device);

}  // namespace dragoman::testing
