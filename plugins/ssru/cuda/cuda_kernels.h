#pragma once

#include <dragoman/tensor/kernel_table.h>

namespace dragoman::ssru {

/// F32. They are part of the plugin `cuda`, which alone is made with CUDA's compiler.
void install_cuda_kernels(tensor::KernelTable& table);

}  // namespace dragoman::ssru
