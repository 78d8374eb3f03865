#include "cuda_backend.h"

#include "device_error.h"

#include <fmt/format.h>

#include <dragoman/backend_cuda/install.h>

namespace dragoman::backend::cuda {

CudaBackend::CudaBackend() : Backend("cuda") {
  install_kernels(kernels());
  int count = 0;
  absence_ = cudaGetDeviceCount(&count);
  if (absence_ != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    count = 0;
  }
  for (int number = 0; number < count; ++number) memories_.push_back(std::make_unique<DeviceMemory>(number));
}

tensor::ComputeType CudaBackend::inference_type(tensor::ComputeChoice choice) const {
  return cuda::inference_type(choice);
}
tensor::ComputeType CudaBackend::training_type(tensor::ComputeChoice choice) const {
  return cuda::training_type(choice);
}

std::string CudaBackend::describe() const {
  if (memories_.empty()) return fmt::format("no device: {}", cudaGetErrorString(absence_));
  std::string text;
  for (int number = 0; number < device_count(); ++number) {
    cudaDeviceProp properties{};
    require_success(cudaGetDeviceProperties(&properties, number), "asking for a device");
    text += fmt::format("{}{}, sm_{}{}", number == 0 ? "" : "; ", properties.name, properties.major, properties.minor);
  }
  return text;
}

std::vector<std::string> CudaBackend::details() const {
  int driver = 0;
  int runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  const auto version = [](int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); };
  return {driver == 0 ? fmt::format("CUDA {}, no driver: install NVIDIA's for this machine's GPU", version(runtime))
                      : fmt::format("CUDA {}, driver for CUDA {}", version(runtime), version(driver))};
}

}  // namespace dragoman::backend::cuda
