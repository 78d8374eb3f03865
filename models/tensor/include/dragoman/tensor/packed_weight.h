#pragma once

#include <cstdint>

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// A matrix in a storage format: floats of any type, or I8 with one F32 scale per row (`scales` is [1, rows]). An I8
/// element has the value integer * scale, computed in fp32.
struct StoredMatrix {
  Tensor values{};
  Tensor scales{};

  StoredMatrix() = default;
  StoredMatrix(const Tensor& matrix, const Tensor& row_scales = {})  // NOLINT(google-explicit-constructor): of floats
      : values(matrix), scales(row_scales) {}
};

/// Returns one element of a host matrix. Slow: for the reference backend, tests and rare operations.
double element(const StoredMatrix& matrix, std::int64_t row, std::int64_t col);

/// A weight matrix in the layout that a backend's GEMM reads fastest. It is opaque, immutable, created once per process
/// and shared by all workers. It has no gradient: recording a gradient through a packed weight is an error.
/// nn::ParameterStore::prepare() packs the weights of a model and owns the result.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;
  virtual std::int64_t rows() const = 0;  ///< outputs, N
  virtual std::int64_t cols() const = 0;  ///< inputs, K
  virtual ComputeType type() const = 0;   ///< the type that it is multiplied in
};

}  // namespace dragoman::tensor
