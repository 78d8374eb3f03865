#pragma once

#include <string_view>

#include <dragoman/autograd/variable.h>
#include <dragoman/core/error.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::backend::reference {

/// Element access to a tensor of doubles. An empty tensor gives a matrix that is false and must not be read.
class Matrix {
 public:
  /// Error{kUnsupported}, which names `op`, unless the tensor is F64 or empty.
  Matrix(const tensor::Tensor& tensor, std::string_view op) : tensor_(tensor) {
    core::require(tensor.empty() || tensor.dtype == tensor::DType::kF64, core::ErrorCode::kUnsupported,
                  "{}: the reference backend computes with F64 only, not with {}", op, tensor::describe(tensor));
  }

  std::int64_t rows() const { return tensor_.rows; }
  std::int64_t cols() const { return tensor_.cols; }
  explicit operator bool() const { return !tensor_.empty(); }

  double& operator()(std::int64_t i, std::int64_t j) const { return tensor_.row<double>(i)[j]; }

  void put(std::int64_t i, std::int64_t j, double value, bool accumulate) const {
    double& place = (*this)(i, j);
    place = accumulate ? place + value : value;
  }
  void fill(double value) const {
    for (std::int64_t i = 0; i < rows(); ++i)
      for (std::int64_t j = 0; j < cols(); ++j) (*this)(i, j) = value;
  }

 private:
  tensor::Tensor tensor_;
};

/// Returns the matrix of a gradient target, ready for adding: zeroed unless the target accumulates.
inline Matrix ready_to_add(const autograd::GradientTarget& target, std::string_view op) {
  Matrix matrix(target.value, op);
  if (matrix && !target.accumulate) matrix.fill(0);
  return matrix;
}

}  // namespace dragoman::backend::reference
