#include "cuda_backend.h"

#include <dragoman/plugins/plugin.h>

namespace {

void register_cuda(dragoman::plugins::Registrar& registrar) {
  registrar.add(std::make_shared<dragoman::backend::cuda::CudaBackend>());
}

}  // namespace

DRAGOMAN_PLUGIN("cuda", "Apache-2.0", register_cuda)
