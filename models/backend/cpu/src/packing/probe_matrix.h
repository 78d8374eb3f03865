#pragma once

#include "products/gemm.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dragoman/tensor/arena.h>

/// Inputs for trial products, which show the bits that a kernel produces.
namespace dragoman::backend::cpu {

/// Returns noise whose sums round. Different values of `state` give different noise.
std::vector<std::byte> probe_values(GemmElements elements, std::int64_t count, std::uint32_t state);

/// A matrix that owns its memory.
struct ProbeMatrix {
  tensor::Buffer storage;
  PackedMatrix matrix;

  /// Creates a matrix of zeros.
  ProbeMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs);
  ProbeMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs, const void* weight);
};

std::vector<float> product_of(const PackedMatrix& matrix, const std::vector<std::byte>& x, std::int64_t rows);

}  // namespace dragoman::backend::cpu
