#include "cuda_backend_for_tests.h"

#include "cuda_backend.h"

namespace dragoman::testing {

std::shared_ptr<tensor::Backend> make_cuda_backend() {
  return std::make_shared<backend::cuda::CudaBackend>();
}
std::shared_ptr<tensor::Backend> make_capturing_cuda_backend() {
  return nullptr;
}

void emulation::set_order(Order, std::uint64_t) {}

}  // namespace dragoman::testing
