#include "emulated_backend.h"

#include "ssru_scan.h"
#include "use_device.h"

// All devices are this one, and a launch is done when it returns.
void dragoman::backend::cuda::device::use(int) {}
void dragoman::backend::cuda::device::wait() {}

namespace dragoman::testing {
namespace {

const tensor::KernelTable& cuda_kernels() {
  static const tensor::KernelTable table = [] {
    tensor::KernelTable cuda(tensor::Device::of("cuda"));
    backend::cuda::install_kernels(cuda);
    return cuda;
  }();
  return table;
}

}  // namespace

EmulatedCuda::EmulatedCuda(std::string_view name, Steps steps)
    : HiddenBackend(cuda_kernels(), name, steps, Opening::kWithin),
      gate_([this] { hidden_memory().open(); }, [this] { hidden_memory().close(); }) {
  wrap(ssru::kScan, cuda_kernels());
  wrap(ssru::kScanBackward, cuda_kernels());
}

std::shared_ptr<tensor::Backend> make_cuda_backend() {
  return std::make_shared<EmulatedCuda>();
}
std::shared_ptr<tensor::Backend> make_capturing_cuda_backend() {
  return std::make_shared<EmulatedCuda>("captured", HiddenBackend::Steps::kReplay);
}

}  // namespace dragoman::testing
