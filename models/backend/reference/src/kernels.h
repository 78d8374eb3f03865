#pragma once

#include <memory>
#include <span>

#include <dragoman/ops/kernels.h>

namespace dragoman::backend::reference {

using tensor::Context;
using tensor::PackedWeight;
using tensor::Tensor;

/// The kernel with these arguments, which does what their comment promises: a specialisation for each key of
/// ops::kKernels. Without it the library does not link.
template <class Arguments>
void kernel(Context& context, const Arguments& arguments);
/// That of ops::kPackWeight.
std::unique_ptr<PackedWeight> kernel(Context& context, const Tensor& weight, tensor::ComputeType type);

/// activation(x), one number.
double activate(ops::Activation activation, double x);

/// What the element of this index is multiplied by under dropout: 0, or the factor that keeps the expectation.
double dropout_factor(double rate, const tensor::RandomState& random, std::int64_t element);

/// values - log(sum of exp(values)), in place. If nothing lies above -infinity the values stay as they are.
void log_softmax_in_place(std::span<double> values);

/// weight(n, k) of a plain or packed weight.
class WeightReader {
 public:
  WeightReader(const Tensor& plain, const tensor::PackedWeight* packed, std::string_view op);
  double operator()(std::int64_t n, std::int64_t k) const { return data_[n * stride_ + k]; }
  std::int64_t rows() const { return rows_; }

 private:
  const double* data_;
  std::int64_t rows_;
  std::int64_t stride_;
};

}  // namespace dragoman::backend::reference
