#pragma once

#include <memory>
#include <tuple>

#include <dragoman/ops/linear.h>
#include <dragoman/tensor/packed_weight.h>

namespace dragoman::backend::cpu {

/// Those of ops::kStepKernels that the CPU has.
inline constexpr std::tuple kStepKernels{ops::kDroppedLinear, ops::kDroppedLinearBackward};

using tensor::Context;
using tensor::PackedWeight;
using tensor::Tensor;

/// The kernel with these arguments, as their comment specifies it. There is a specialisation for each key of
/// ops::kKernels; a missing one is a link error.
template <class Arguments>
void kernel(Context& context, const Arguments& arguments);
/// The kernel of ops::kPackWeight.
std::unique_ptr<PackedWeight> kernel(Context& context, const tensor::StoredMatrix& weight, tensor::ComputeType type);

}  // namespace dragoman::backend::cpu
