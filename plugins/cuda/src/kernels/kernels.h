#pragma once

#include <memory>

#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::backend::cuda {

using tensor::ComputeType;
using tensor::Context;
using tensor::PackedWeight;
using tensor::Tensor;

/// The kernel with these arguments, which does what their comment promises: a specialisation for each key of
/// ops::kKernels. Without it the library does not link.
template <class Arguments>
void kernel(Context& context, const Arguments& arguments);
/// That of ops::kMakeShortlistOutputs.
std::unique_ptr<ops::ShortlistOutputs> kernel(Context& context, const PackedWeight& weight, std::int64_t columns);
/// That of ops::kPackWeight.
std::unique_ptr<PackedWeight> kernel(Context& context, const tensor::StoredMatrix& weight, ComputeType type);

}  // namespace dragoman::backend::cuda
