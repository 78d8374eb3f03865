#pragma once

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::backend::reference {

/// Rounds to nearest, ties to even; values beyond the largest finite one become infinite. `type` is BF16 or F16.
inline double round_to(tensor::DType type, double value) {
  const auto number = static_cast<float>(value);
  return type == tensor::DType::kF16 ? tensor::f16_to_f32(tensor::f32_to_f16(number))
                                     : tensor::bf16_to_f32(tensor::f32_to_bf16(number));
}

/// Returns the value that products of the type multiply in place of `value`. Does not handle int8.
inline double input_of_product(tensor::ComputeType type, double value) {
  if (type == tensor::ComputeType::kBF16) return round_to(tensor::DType::kBF16, value);
  if (type == tensor::ComputeType::kF16) return round_to(tensor::DType::kF16, value);
  return value;
}

}  // namespace dragoman::backend::reference
