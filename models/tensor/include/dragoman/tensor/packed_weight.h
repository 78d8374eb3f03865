#pragma once

#include <cstdint>
#include <string_view>

namespace dragoman::tensor {

/// What weights are multiplied in. Activations between ops stay in the context's float type.
enum class ComputeType : std::uint8_t { kF32 };

/// A weight matrix in the form that a backend's GEMM reads fastest: opaque, immutable, made once per process and shared
/// by all workers. It has no gradient: recording a gradient through a packed weight is an error.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;
  virtual std::int64_t rows() const = 0;  ///< outputs, N
  virtual std::int64_t cols() const = 0;  ///< inputs, K
};

}  // namespace dragoman::tensor
