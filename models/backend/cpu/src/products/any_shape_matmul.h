#pragma once

#include "gemm.h"

#include <cstdint>

namespace dragoman::backend::cpu {

/// gemm() of bf16 with one kernel for each form of the operands (transposed or not, accumulating or not), which oneDNN
/// packs itself. A kernel for each shape would be faster but takes a millisecond to create, and in training each batch
/// has a different number of rows. No dimension may be 0, and rows must fit into their strides.
void any_shape_matmul(const GemmArguments<std::uint16_t>& arguments);

}  // namespace dragoman::backend::cpu
