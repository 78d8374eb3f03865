#pragma once

#include "memory.h"

#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include <dragoman/tensor/backend.h>

namespace dragoman::backend::cuda {

/// The devices that the driver knows. Without a driver there are none, and describe() says why.
class CudaBackend final : public tensor::Backend {
 public:
  CudaBackend();

  int device_count() const override { return static_cast<int>(memories_.size()); }
  tensor::DeviceMemory& memory(int number) const override { return *memories_.at(static_cast<std::size_t>(number)); }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override;
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override;
  std::string describe() const override;
  std::vector<std::string> details() const override;

 private:
  cudaError_t absence_ = cudaSuccess;
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
};

}  // namespace dragoman::backend::cuda
