#include "cuda_backend_for_tests.h"

#include "cuda_backend.h"

namespace dragoman::testing {

bool emulates_cuda() {
  return false;
}
std::shared_ptr<tensor::Backend> make_cuda_backend() {
  return std::make_shared<backend::cuda::CudaBackend>();
}
std::shared_ptr<tensor::Backend> make_capturing_cuda_backend() {
  return nullptr;
}

std::shared_ptr<tensor::Backend> make_two_cuda_devices() {
  return nullptr;
}

void emulation::set_order(Order, std::uint64_t) {}
void emulation::set_lazy_streams(bool) noexcept {}
void emulation::set_watched_races(bool) noexcept {}
emulation::Replays emulation::replays(const tensor::Backend&) {
  return {};
}
std::uint64_t emulation::bytes_taken(const tensor::Backend&, int) {
  return 0;
}

}  // namespace dragoman::testing
