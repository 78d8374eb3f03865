#include "probe_matrix.h"

#include "packed_layout.h"

#include <cstring>

#include <dragoman/tensor/dtype.h>

namespace dragoman::backend::cpu {

std::vector<std::byte> probe_values(GemmElements elements, std::int64_t count, std::uint32_t state) {
  const std::size_t size = element_bytes(elements);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const float value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
    const std::uint16_t bits = tensor::f32_to_bf16(value);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size,
                elements == GemmElements::kF32 ? static_cast<const void*>(&value) : &bits, size);
  }
  return bytes;
}

ProbeMatrix::ProbeMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs)
    : storage(tensor::host_memory(), PackedMatrix::bytes(elements, outputs, inputs)),
      matrix(elements, outputs, inputs, storage.data()) {}

ProbeMatrix::ProbeMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs, const void* weight)
    : storage(tensor::host_memory(), PackedMatrix::bytes(elements, outputs, inputs)),
      matrix(elements, weight, inputs, outputs, inputs, storage.data()) {}

std::vector<float> product_of(const PackedMatrix& matrix, const std::vector<std::byte>& x, std::int64_t rows) {
  std::vector<float> y(static_cast<std::size_t>(rows * matrix.outputs()));
  matrix.multiply(x.data(), rows, y.data());
  return y;
}

}  // namespace dragoman::backend::cpu
