#include "byte_matmul.h"

#include <cstring>

namespace dragoman::backend::cpu {
namespace {

/// Byte products for processors that neither we nor oneDNN have kernels for. Weights stay as they are, and a loop that
/// compilers vectorise adds the products of one output. oneDNN's portable code converts its sums to float, which loses
/// bits of sums of more than 24 bits, and is slower.
class PlainMatmul final : public ByteMatmul {
 public:
  std::size_t bytes(const ByteShape& shape) const override {
    return static_cast<std::size_t>(shape.outputs * shape.inputs);
  }

  void pack(const ByteShape& shape, const std::int8_t* weight, std::int64_t stride, void* packed) const override {
    for (std::int64_t output = 0; output < shape.outputs; ++output)
      std::memcpy(row(shape, packed, output), weight + output * stride, static_cast<std::size_t>(shape.inputs));
  }

  void pack_zeros(const ByteShape& shape, void* packed) const override { std::memset(packed, 0, bytes(shape)); }

  void copy(const ByteShape& from_shape, const void* from, std::int64_t output, const ByteShape& to_shape, void* to,
            std::int64_t to_output) const override {
    std::memcpy(row(to_shape, to, to_output), static_cast<const std::int8_t*>(from) + output * from_shape.inputs,
                static_cast<std::size_t>(from_shape.inputs));
  }

  void multiply(const ByteShape& shape, const void* packed, const OutputRange& part, const std::uint8_t* x,
                std::int64_t rows, std::int32_t* y) const override {
    // An output is used for all rows while it is in the first-level cache.
    for (std::int64_t output = 0; output < part.count; ++output) {
      const std::int8_t* weight = static_cast<const std::int8_t*>(packed) + (part.first + output) * shape.inputs;
      for (std::int64_t r = 0; r < rows; ++r)
        y[r * part.count + output] = dot(x + r * shape.inputs, weight, shape.inputs);
    }
  }

 private:
  static std::int8_t* row(const ByteShape& shape, void* packed, std::int64_t output) {
    return static_cast<std::int8_t*>(packed) + output * shape.inputs;
  }

  static std::int32_t dot(const std::uint8_t* x, const std::int8_t* weight, std::int64_t count) {
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += std::int32_t{x[i]} * std::int32_t{weight[i]};
    return sum;
  }
};

}  // namespace

const ByteMatmul& plain_matmul() {
  static const PlainMatmul matmul;
  return matmul;
}

}  // namespace dragoman::backend::cpu
