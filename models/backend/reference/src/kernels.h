#pragma once

#include <memory>
#include <span>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/project_shortlist_top_k.h>
#include <dragoman/tensor/packed_weight.h>

namespace dragoman::backend::reference {

using tensor::ComputeType;
using tensor::Context;
using tensor::PackedWeight;
using tensor::Tensor;

/// The kernel with these arguments, as their comment specifies it. There is a specialisation for each key of
/// ops::kKernels; a missing one is a link error.
template <class Arguments>
void kernel(Context& context, const Arguments& arguments);
/// The kernel of ops::kPackWeight.
std::unique_ptr<PackedWeight> kernel(Context& context, const tensor::StoredMatrix& weight, tensor::ComputeType type);
/// The kernel of ops::kMakeShortlistOutputs.
std::unique_ptr<ops::ShortlistOutputs> kernel(Context& context, const PackedWeight& weight, std::int64_t columns);

/// Returns activation(x) of one value.
double activate(ops::Activation activation, double x);

/// Returns the dropout factor of the element with this index: 0, or the factor that preserves the expectation.
double dropout_factor(double rate, const tensor::RandomState& random, std::int64_t element);

/// Computes values - log(sum of exp(values)) in place. If all values are -infinity, they stay unchanged.
void log_softmax_in_place(std::span<double> values);

}  // namespace dragoman::backend::reference
