#pragma once

#include <cstdint>

#include <dragoman/autograd/tape.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/packed_weight.h>

namespace dragoman::ops {

using autograd::GradientTarget;
using autograd::Variable;
using tensor::Context;
using tensor::DeviceArray;
using tensor::Indices;
using tensor::KernelKey;
using tensor::PackedWeight;
using tensor::RandomState;
using tensor::Tensor;

/// A weight matrix [N, K] (outputs, inputs: PyTorch's layout), plain or packed. Ops take either.
struct Weight {
  Variable value;
  const PackedWeight* packed = nullptr;
};

/// A projection to the vocabulary: logits = hidden * weight^T + bias. `bias` may be empty.
struct Projection {
  Weight weight;
  Variable bias;
};

/// Sequence boundaries of ragged rows: sequence b is rows [offsets[b], offsets[b+1]).
using Offsets = Indices;

// What kernels get is trivially copyable and points to the device's memory only, and what differs from one step to the
// next equal one stands there, too. So a device may keep the calls of a step and make them again.
using DeviceIndices = DeviceArray<std::int32_t>;

}  // namespace dragoman::ops
