#pragma once

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/kernel_table.h>

namespace dragoman::backend::cuda {

/// Registers the kernel of each key of ops/kernels.h but ops::kFeedForward. They compute in fp32, launch on the calling
/// thread's stream, and take tensors of the context's device only.
void install_kernels(tensor::KernelTable& table);

/// Backend::inference_type() and training_type(). Each type is as it is named; auto is fp16 to translate and bf16 to
/// train.
tensor::ComputeType inference_type(tensor::ComputeChoice choice);
tensor::ComputeType training_type(tensor::ComputeChoice choice);

}  // namespace dragoman::backend::cuda
