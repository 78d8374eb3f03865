#pragma once

#include <cstdint>

#include <dragoman/autograd/tape.h>
#include <dragoman/ops/values.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/packed_weight.h>

namespace dragoman::ops {

using autograd::GradientTarget;
using autograd::Variable;
using tensor::ComputeType;
using tensor::Context;
using tensor::DeviceArray;
using tensor::Indices;
using tensor::KernelKey;
using tensor::PackedWeight;
using tensor::RandomState;
using tensor::StoredMatrix;
using tensor::Tensor;

/// A weight matrix [N, K] (outputs, inputs: PyTorch's layout), plain or packed. Ops take either. One that is stored in
/// another type than the context's has to be packed; `scales` belong to a plain one of I8, as in StoredMatrix.
struct Weight {
  Variable value;
  const PackedWeight* packed = nullptr;
  Tensor scales{};

  StoredMatrix stored() const noexcept { return {value.value, scales}; }
};

/// A projection to the vocabulary: logits = hidden * weight^T + bias. `bias` may be empty.
struct Projection {
  Weight weight;
  Variable bias;

  std::int64_t vocabulary() const noexcept {
    return weight.packed != nullptr ? weight.packed->rows() : weight.value.value.rows;
  }
};

/// Sequence boundaries of ragged rows: sequence b is rows [offsets[b], offsets[b+1]).
using Offsets = Indices;

// What kernels get is trivially copyable and points to the device's memory only, and what differs from one step to the
// next equal one stands there, too. So a device may keep the calls of a step and make them again.
using DeviceIndices = DeviceArray<std::int32_t>;

}  // namespace dragoman::ops
