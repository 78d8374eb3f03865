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

/// A weight matrix [N, K] (outputs, inputs: PyTorch's layout), plain or packed. Ops accept both. A weight that is
/// stored in another type than the context's must be packed. `scales` belong to a plain I8 weight; see StoredMatrix.
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

/// The boundaries of ragged sequences: sequence b has the rows [offsets[b], offsets[b+1]).
using Offsets = Indices;

// Kernel arguments are trivially copyable and point to device memory only. Values that differ between equal steps are
// in device memory, too. So a device can record the calls of a step and replay them.
using DeviceIndices = DeviceArray<std::int32_t>;

}  // namespace dragoman::ops
