#pragma once

#include <cstddef>
#include <cstdint>

namespace dragoman::backend::cpu {

/// Of a weight [outputs, inputs] of bytes.
struct ByteShape {
  std::int64_t outputs;
  std::int64_t inputs;
};

/// Outputs of a weight.
struct OutputRange {
  std::int64_t first;
  std::int64_t count;
};

/// Own products of bytes, for processors where they are faster than oneDNN's. All sums are exact, so a row of a product
/// has the same bits whatever the other rows. Packed weights lie in memory of the caller, 64-byte aligned, and say
/// nothing of their shape. Stateless: for any thread.
class ByteMatmul {
 public:
  virtual ~ByteMatmul() = default;

  /// Bytes of a packed weight.
  virtual std::size_t bytes(const ByteShape& shape) const = 0;
  /// The rows of `weight` lie `stride` apart.
  virtual void pack(const ByteShape& shape, const std::int8_t* weight, std::int64_t stride, void* packed) const = 0;
  /// A weight of zeros, which copy() may fill with whatever there is.
  virtual void pack_zeros(const ByteShape& shape, void* packed) const = 0;
  /// Copies one output of a packed weight to one that pack_zeros() made, with as many inputs.
  virtual void copy(const ByteShape& from_shape, const void* from, std::int64_t output, const ByteShape& to_shape,
                    void* to, std::int64_t to_output) const = 0;
  /// y [rows, part.count] = x [rows, inputs] * those outputs of the weight^T, both without gaps.
  virtual void multiply(const ByteShape& shape, const void* packed, const OutputRange& part, const std::uint8_t* x,
                        std::int64_t rows, std::int32_t* y) const = 0;
};

/// The one for this processor, as limit_simd() leaves it; nullptr: oneDNN is as good, or the shape does not suit.
const ByteMatmul* byte_matmul(const ByteShape& shape);

/// With AVX2: see paired_matmul.cpp. Numbers of x are at most 127.
const ByteMatmul& paired_matmul();
/// With AVX-512 VNNI: see vnni_matmul.cpp.
const ByteMatmul& vnni_matmul();

/// Both take weights whose inputs come in groups of kGroupInputs. There are at most tensor::kMaxInt8Inputs inputs, so
/// that 32 bits hold every sum of products.
constexpr std::int64_t kGroupInputs = 4;
/// What is multiplied by itself begins at a multiple of this, and ends at one or with the weight.
constexpr std::int64_t kByteOutputUnit = 32;

}  // namespace dragoman::backend::cpu
