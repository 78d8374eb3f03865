#pragma once

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::nn {

/// The type of the keys and values of a decoder whose weights are multiplied in `type`. F32: values are not rounded.
inline tensor::DType kept_type_of(tensor::ComputeType type) {
  switch (type) {
    case tensor::ComputeType::kF32:
      return tensor::DType::kF32;
    case tensor::ComputeType::kF16:
      return tensor::DType::kF16;
    default:
      return tensor::DType::kBF16;
  }
}

}  // namespace dragoman::nn
