#pragma once

#include <cstdint>

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// A matrix as files store it: floats of any type; or I8 with one F32 scale for each row, `scales` [1, rows], an
/// element being number * scale in fp32.
struct StoredMatrix {
  Tensor values{};
  Tensor scales{};

  StoredMatrix() = default;
  StoredMatrix(const Tensor& matrix, const Tensor& row_scales = {})  // NOLINT(google-explicit-constructor): of floats
      : values(matrix), scales(row_scales) {}
};

/// An element of a host matrix. Slow: for reference, tests and what happens once.
double element(const StoredMatrix& matrix, std::int64_t row, std::int64_t col);

/// A weight matrix in the form that a backend's GEMM reads fastest: opaque, immutable, made once per process and shared
/// by all workers. It has no gradient: recording a gradient through a packed weight is an error.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;
  virtual std::int64_t rows() const = 0;  ///< outputs, N
  virtual std::int64_t cols() const = 0;  ///< inputs, K
  virtual ComputeType type() const = 0;   ///< what it is multiplied in
};

}  // namespace dragoman::tensor
