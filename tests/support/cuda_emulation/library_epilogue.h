#pragma once

#include "gemm/gemm_library.h"

namespace dragoman::testing {

/// Applies the activation function of a shape to c, which has the sums with their bias, as cublasLt.h specifies it. It
/// shares no code with the kernels of the backend.
void apply_library_epilogue(const backend::cuda::GemmShape& shape, const backend::cuda::GemmOperands& operands);

}  // namespace dragoman::testing
