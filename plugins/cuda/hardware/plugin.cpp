#include "cuda_backend.h"
#include "nccl.h"

#include <dragoman/plugins/plugin.h>

namespace {

void register_cuda(dragoman::plugins::Registrar& registrar) {
  using namespace dragoman;
  registrar.add(std::make_shared<backend::cuda::CudaBackend>());
  registrar.add(plugins::DeviceLinksEntry{.name = collective::kNccl,
                                          .summary = "gradients from GPU to GPU, by NCCL",
                                          .backend = "cuda",
                                          .offer = backend::cuda::offer_nccl,
                                          .make = backend::cuda::make_nccl_links});
}

}  // namespace

DRAGOMAN_PLUGIN("cuda", "Apache-2.0", register_cuda)
