#pragma once

#include <memory>
#include <string>

#include <dragoman/collective/device_links.h>

namespace dragoman::backend::cuda {

/// Links of a device by the NCCL that load_nccl() has found; there must be one.
std::unique_ptr<collective::DeviceLinks> make_nccl_links(const collective::LinkRequest& request);

/// What this process has for them, of a device; of one that is not here nothing is said of it.
collective::LinkOffer offer_nccl(int device);

}  // namespace dragoman::backend::cuda
