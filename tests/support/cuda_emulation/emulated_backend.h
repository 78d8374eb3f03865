#pragma once

#include "block.h"
#include "hidden_backend.h"

#include <dragoman/backend_cuda/install.h>

namespace dragoman::testing {

/// The CUDA backend on a machine without a GPU: its own kernels on emulated blocks, in memory that the host cannot read
/// and that is open while a kernel runs only.
class EmulatedCuda final : public HiddenBackend {
 public:
  explicit EmulatedCuda(std::string_view name = "cuda", Steps steps = Steps::kRun);

  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override {
    return backend::cuda::inference_type(choice);
  }
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override {
    return backend::cuda::training_type(choice);
  }
  std::string describe() const override { return "the kernels for CUDA, emulated"; }

 private:
  emulation::MemoryGate gate_;
};

}  // namespace dragoman::testing
