#pragma once

#include "products/gemm.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dragoman/tensor/arena.h>

/// What products are tried out with, to see which bits they give.
namespace dragoman::backend::cpu {

/// Noise whose sums round; of another `state` another one.
std::vector<std::byte> probe_values(GemmElements elements, std::int64_t count, std::uint32_t state);

/// A matrix with memory of its own.
struct ProbeMatrix {
  tensor::Buffer storage;
  PackedMatrix matrix;

  /// Of zeros.
  ProbeMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs);
  ProbeMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs, const void* weight);
};

std::vector<float> product_of(const PackedMatrix& matrix, const std::vector<std::byte>& x, std::int64_t rows);

}  // namespace dragoman::backend::cpu
