#include "device_error.h"
#include "memory.h"

#include <memory>
#include <vector>

#include <fmt/format.h>

#include <dragoman/backend_cuda/install.h>
#include <dragoman/plugins/plugin.h>
#include <dragoman/tensor/backend.h>

namespace {

using namespace dragoman;

/// The devices that the driver knows. Without a driver there are none, and the backend says why.
class CudaBackend final : public tensor::Backend {
 public:
  CudaBackend() : Backend("cuda") {
    backend::cuda::install_kernels(kernels());
    int count = 0;
    absence_ = cudaGetDeviceCount(&count);
    if (absence_ != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      count = 0;
    }
    for (int number = 0; number < count; ++number)
      memories_.push_back(std::make_unique<backend::cuda::DeviceMemory>(number));
  }

  int device_count() const override { return static_cast<int>(memories_.size()); }
  tensor::DeviceMemory& memory(int number) const override { return *memories_.at(static_cast<std::size_t>(number)); }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override {
    return backend::cuda::inference_type(choice);
  }
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override {
    return backend::cuda::training_type(choice);
  }

  std::string describe() const override {
    if (memories_.empty()) return fmt::format("no device: {}", cudaGetErrorString(absence_));
    std::string text;
    for (int number = 0; number < device_count(); ++number) {
      cudaDeviceProp properties{};
      backend::cuda::require_success(cudaGetDeviceProperties(&properties, number), "asking for a device");
      text +=
          fmt::format("{}{}, sm_{}{}", number == 0 ? "" : "; ", properties.name, properties.major, properties.minor);
    }
    return text;
  }

  std::vector<std::string> details() const override {
    int driver = 0;
    int runtime = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    static_cast<void>(cudaRuntimeGetVersion(&runtime));
    const auto version = [](int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); };
    return {driver == 0 ? fmt::format("CUDA {}, no driver: install NVIDIA's for this machine's GPU", version(runtime))
                        : fmt::format("CUDA {}, driver for CUDA {}", version(runtime), version(driver))};
  }

 private:
  cudaError_t absence_ = cudaSuccess;
  std::vector<std::unique_ptr<backend::cuda::DeviceMemory>> memories_;
};

void register_cuda(plugins::Registrar& registrar) {
  registrar.add(std::make_shared<CudaBackend>());
}

}  // namespace

DRAGOMAN_PLUGIN("cuda", "Apache-2.0", register_cuda)
