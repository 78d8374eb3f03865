#pragma once

#include "memory.h"

#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include <dragoman/tensor/backend.h>

namespace dragoman::backend::cuda {

class LibraryGemm;

/// The devices that the driver knows. Without a driver there are none, and describe() says why.
class CudaBackend final : public tensor::Backend {
 public:
  CudaBackend();
  ~CudaBackend() override;

  int device_count() const override { return static_cast<int>(memories_.size()); }
  tensor::DeviceMemory& memory(int number) const override { return *memories_.at(static_cast<std::size_t>(number)); }
  tensor::DType float_type() const override { return tensor::DType::kF32; }
  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override;
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override;
  std::int64_t row_bucket() const override { return kRowBucket; }
  tensor::PreferredLoad preferred_load(int number, tensor::ComputeType type) const override;
  std::string describe() const override;
  std::vector<std::string> details() const override;
  std::vector<std::string> missing() const override;
  std::vector<std::string> take_notices() const override;
  std::vector<tensor::KernelTime> kernel_times() const override;
  void configure(const tensor::DeviceOptions& options) override;
  std::unique_ptr<tensor::StepRecorder> make_recorder(tensor::Context& context) const override;

 private:
  /// So that few of a training's batches differ in their number of rows; of 4,096 tokens at most a thirty-second is
  /// lost.
  static constexpr std::int64_t kRowBucket = 128;

  /// Lets products of the device go through cuBLASLt, if that may be and it is here; the first context asks for it.
  void open_library(tensor::Device device) const;
  /// Notes, the first time only, that a step could not be recorded.
  void note_refusal(const std::string& reason) const;

  cudaError_t absence_ = cudaSuccess;
  std::string left_out_;  ///< why devices that the driver knows are not offered; empty if all are
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
  tensor::DeviceOptions options_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> notices_;
  mutable bool noted_refusal_ = false;
  mutable std::vector<std::unique_ptr<LibraryGemm>> libraries_;  ///< of each device; nullptr: not opened
};

}  // namespace dragoman::backend::cuda
