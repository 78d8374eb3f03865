#pragma once

#include "simd/rounding.h"

#include <cstddef>
#include <cstdint>

namespace dragoman::backend::cpu {

/// The shape of a byte weight [outputs, inputs].
struct ByteShape {
  std::int64_t outputs;
  std::int64_t inputs;
};

/// Consecutive outputs of a weight.
struct OutputRange {
  std::int64_t first;
  std::int64_t count;
};

/// How sums become floats: y = dequantised sum + bias, and if `relu` is true, the maximum of that and 0.
struct ByteFinish {
  Dequantization dequantization;
  const float* bias;  ///< nullptr: no bias
  bool relu;
  float* y;
  std::int64_t y_stride;
};

/// Dragoman's own products of bytes, for processors where they are faster than oneDNN's, or where only they are exact.
/// All sums are exact, so the bits of a row do not depend on the other rows. Packed weights are in the caller's memory,
/// 64-byte aligned, and do not store their shape. Stateless; any thread may use it.
class ByteMatmul {
 public:
  virtual ~ByteMatmul() = default;

  /// The size of a packed weight in bytes.
  virtual std::size_t bytes(const ByteShape& shape) const = 0;
  /// Packs `weight`, whose rows are `stride` apart.
  virtual void pack(const ByteShape& shape, const std::int8_t* weight, std::int64_t stride, void* packed) const = 0;
  /// Packs a weight of zeros, which copy() may fill with any outputs.
  virtual void pack_zeros(const ByteShape& shape, void* packed) const = 0;
  /// Copies one output of a packed weight to a weight that pack_zeros() created. Both have the same number of inputs.
  virtual void copy(const ByteShape& from_shape, const void* from, std::int64_t output, const ByteShape& to_shape,
                    void* to, std::int64_t to_output) const = 0;
  /// y [rows, part.count] = x [rows, inputs] * (these outputs of the weight)^T, both without gaps.
  virtual void multiply(const ByteShape& shape, const void* packed, const OutputRange& part, const std::uint8_t* x,
                        std::int64_t rows, std::int32_t* y) const = 0;

  /// Returns true if multiply_and_finish() may be called.
  virtual bool finishes() const { return false; }
  /// Computes the product of all outputs, and finishes sums while they are in the first-level cache.
  virtual void multiply_and_finish(const ByteShape& shape, const void* packed, const std::uint8_t* x, std::int64_t rows,
                                   const ByteFinish& finish) const;
};

/// A packed weight that stores groups of kGroupInputs inputs of an output together.
class GroupedByteMatmul : public ByteMatmul {
 public:
  void pack(const ByteShape& shape, const std::int8_t* weight, std::int64_t stride, void* packed) const final;
  void pack_zeros(const ByteShape& shape, void* packed) const final;
  void copy(const ByteShape& from_shape, const void* from, std::int64_t output, const ByteShape& to_shape, void* to,
            std::int64_t to_output) const final;

 protected:
  static constexpr std::int64_t kRunGroups = 16;
  /// The places of an output's groups. Groups of a run of kRunGroups are `step` bytes apart, runs are `run_step` apart.
  struct Groups {
    std::int8_t* first;
    std::int64_t step;
    std::int64_t run_step;

    std::int8_t* operator[](std::int64_t group) const noexcept {
      return first + group / kRunGroups * run_step + group % kRunGroups * step;
    }
  };
  virtual Groups groups_of(const ByteShape& shape, const void* packed, std::int64_t output) const = 0;
};

/// Returns the implementation for this processor, within the limit of limit_simd(). Returns nullptr if oneDNN is
/// equally fast or the shape does not fit.
const ByteMatmul* byte_matmul(const ByteShape& shape);

/// With AVX2; see paired_matmul.cpp. Values of x are at most 127.
const ByteMatmul& paired_matmul();
/// With AVX-512 VNNI; see vnni_matmul.cpp.
const ByteMatmul& vnni_matmul();
/// With AMX; see tile_matmul.cpp. The number of inputs must be a multiple of kTileInputs.
const ByteMatmul& tile_matmul();
constexpr std::int64_t kTileInputs = 64;

/// With any instructions and any number of inputs; see plain_matmul.cpp.
const ByteMatmul& plain_matmul();

/// The others require that inputs come in groups of kGroupInputs. There are at most tensor::kMaxInt8Inputs inputs, so
/// that every sum of products fits into 32 bits.
constexpr std::int64_t kGroupInputs = 4;
/// Ranges of outputs that are multiplied separately begin at a multiple of this, and end at one or with the weight.
constexpr std::int64_t kByteOutputUnit = 32;

}  // namespace dragoman::backend::cpu
