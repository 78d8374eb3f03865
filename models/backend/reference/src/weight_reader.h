#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <dragoman/tensor/packed_weight.h>

namespace dragoman::backend::reference {

/// The product of rows with a weight, in the weight's compute type, exactly as docs/concepts/numerics.md defines it.
class WeightReader {
 public:
  WeightReader(const tensor::Tensor& plain, tensor::ComputeType type, std::string_view op);
  WeightReader(const tensor::PackedWeight* packed, std::string_view op);

  std::int64_t rows() const noexcept { return rows_; }
  /// Sets the row of inputs for product().
  void take_row(const double* x);
  /// Returns the sum over k of x[k] * weight[n, k].
  double product(std::int64_t n) const;

 private:
  tensor::ComputeType type_ = tensor::ComputeType::kF32;
  const double* data_;
  const float* scales_ = nullptr;  ///< of an int8 weight
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t stride_;
  std::vector<double> rounded_;  ///< a plain weight after rounding, if it is rounded
  std::vector<double> x_;
  float x_scale_ = 1;
};

}  // namespace dragoman::backend::reference
