#pragma once

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/kernel_table.h>

namespace dragoman::backend::cuda {

/// Registers a kernel for each key of ops/kernels.h except ops::kFeedForward. The kernels compute in fp32, launch on
/// the calling thread's stream, and take tensors of the context's device only.
void install_kernels(tensor::KernelTable& table);

/// Implement Backend::inference_type() and Backend::training_type(). `auto` is fp16 for inference and bf16 for
/// training. Every other choice is the type of its name.
tensor::ComputeType inference_type(tensor::ComputeChoice choice);
tensor::ComputeType training_type(tensor::ComputeChoice choice);

}  // namespace dragoman::backend::cuda
