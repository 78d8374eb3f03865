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

/// The kernel with these arguments, which does what their comment promises: a specialisation for each key of
/// ops::kKernels. Without it the library does not link.
template <class Arguments>
void kernel(Context& context, const Arguments& arguments);
/// That of ops::kPackWeight.
std::unique_ptr<PackedWeight> kernel(Context& context, const tensor::StoredMatrix& weight, tensor::ComputeType type);
/// That of ops::kMakeShortlistOutputs.
std::unique_ptr<ops::ShortlistOutputs> kernel(Context& context, const PackedWeight& weight, std::int64_t columns);

/// activation(x), one number.
double activate(ops::Activation activation, double x);

/// What the element of this index is multiplied by under dropout: 0, or the factor that keeps the expectation.
double dropout_factor(double rate, const tensor::RandomState& random, std::int64_t element);

/// values - log(sum of exp(values)), in place. If nothing lies above -infinity the values stay as they are.
void log_softmax_in_place(std::span<double> values);

}  // namespace dragoman::backend::reference
