#pragma once

#include <dragoman/tensor/dtype.h>

namespace dragoman::backend::reference {

/// To nearest, ties to even.
inline double round_to_bf16(double value) {
  return tensor::bf16_to_f32(tensor::f32_to_bf16(static_cast<float>(value)));
}

}  // namespace dragoman::backend::reference
