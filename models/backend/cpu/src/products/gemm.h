#pragma once

#include "dragoman/backend_cpu/install.h"
#include "bytes/byte_matmul.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// The interface between the kernels and oneDNN. Every call runs on the calling thread alone; work is divided before it
/// gets here.
namespace dragoman::backend::cpu {

struct GemmArguments {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;  ///< [m, k], or [k, m] if transpose_a
  std::int64_t a_stride = 0;
  bool transpose_a = false;
  const float* b = nullptr;  ///< [k, n], or [n, k] if transpose_b
  std::int64_t b_stride = 0;
  bool transpose_b = false;
  float* c = nullptr;  ///< [m, n]
  std::int64_t c_stride = 0;
  bool accumulate = false;
};

/// c = op(a) * op(b), or c += ...; the product over no elements is 0.
void gemm(const GemmArguments& arguments);

/// The element types of x, of the weight and of the product. They may differ from the compute type: rounded values may
/// be multiplied as floats, and both int8 types are multiplied as bytes.
enum class GemmElements : std::uint8_t {
  kF32,   ///< float, float, float
  kBF16,  ///< bf16, bf16, float
  /// uint8, int8, int32. Sums are exact if sums_bytes_exactly(), or if no sum of two adjacent products exceeds 16 bits.
  kI8,
};
/// Returns true if products of bytes are added in 32 bits, as VNNI, AMX and plain_matmul() do. Older instructions of
/// x86-64 saturate the sum of two adjacent products to 16 bits.
bool sums_bytes_exactly();
/// The best instructions for products of bytes that oneDNN's kernels use. kPlain: the processor is not an x86-64, and
/// oneDNN's portable code is not used.
enum class ByteInstructions : std::uint8_t { kAvx2, kVnni, kTiles, kOther, kPlain };
ByteInstructions byte_instructions();
/// The instructions that make bf16 products faster than fp32 products, if any: AMX, or AVX512_BF16 on AMD processors
/// from Zen 4 on, where one instruction multiplies twice the number of values in bf16. On Intel processors without AMX,
/// bf16 has half the speed of fp32.
enum class Bf16Instructions : std::uint8_t { kNone, kPairs, kTiles };
Bf16Instructions bf16_instructions();
inline bool has_fast_bf16() {
  return bf16_instructions() != Bf16Instructions::kNone;
}

/// A weight matrix [outputs, inputs] in the layout that oneDNN's matmul reads fastest, or in the layout of
/// byte_matmul().
class PackedMatrix {
 public:
  /// The size of the packed form in bytes.
  static std::size_t bytes(GemmElements elements, std::int64_t outputs, std::int64_t inputs);

  /// Packs `weight` into `storage`. The rows of `weight` have these elements and are `stride` elements apart. `storage`
  /// is 64-byte aligned, has bytes() bytes, and must outlive the object.
  PackedMatrix(GemmElements elements, const void* weight, std::int64_t stride, std::int64_t outputs,
               std::int64_t inputs, void* storage);
  /// Packs a matrix of zeros.
  PackedMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs, void* storage);
  ~PackedMatrix();
  PackedMatrix(PackedMatrix&&) noexcept;
  PackedMatrix& operator=(PackedMatrix&&) noexcept;

  GemmElements elements() const noexcept { return elements_; }
  std::int64_t outputs() const noexcept { return outputs_; }
  std::int64_t inputs() const noexcept { return inputs_; }
  /// The packed form.
  void* storage() const noexcept { return storage_; }

  /// y [rows, outputs] = x [rows, inputs] * weight^T. Rows must have no gaps, because oneDNN 2.6 was observed to change
  /// the order of summation with the stride of y. `rows` must be one of row_buckets(). Without sums_bytes_exactly(),
  /// bytes of x are at most 127.
  void multiply(const void* x, std::int64_t rows, void* y) const;

  /// Returns true if multiply_and_finish() may be called.
  bool finishes() const noexcept { return bytes_ != nullptr && bytes_->finishes(); }
  /// Computes the product of multiply(), and converts it to floats; see ByteMatmul::multiply_and_finish().
  void multiply_and_finish(const std::uint8_t* x, std::int64_t rows, const ByteFinish& finish) const;

  /// Returns a width, close to `wanted`, of parts of the outputs whose products have the same bits as the product of
  /// the whole. `rows` is one of row_buckets(). Returns 0 if there is no such width. For elements other than bytes,
  /// this is measured on the first call.
  std::int64_t part_width(std::int64_t rows, std::int64_t wanted) const;
  /// y [rows, stride] = x [rows, inputs] * (these outputs of the weight)^T. The part must begin at a multiple of
  /// part_width(), and have that width or contain all remaining outputs. Returns the stride, which exceeds the outputs
  /// of the part by at most kMaxPartPadding.
  std::int64_t multiply_part(const OutputRange& part, const void* x, std::int64_t rows, void* y) const;
  static constexpr std::int64_t kMaxPartPadding = 63;

  /// The row counts (ascending) for which the bits of a row of y were observed not to depend on the row count or on the
  /// position of the row.
  std::span<const std::int64_t> row_buckets() const noexcept { return buckets_; }

 private:
  struct Memory;

  ByteShape byte_shape() const noexcept { return {outputs_, inputs_}; }

  GemmElements elements_;
  std::int64_t outputs_;
  std::int64_t inputs_;
  void* storage_;
  const ByteMatmul* bytes_ = nullptr;  ///< the kernel that multiplies it; null: oneDNN
  std::unique_ptr<Memory> memory_;     ///< oneDNN's view of the storage, if it is in oneDNN's layout
  std::span<const std::int64_t> buckets_;
};

/// Limits oneDNN to `level`. Returns false if it is too late for that.
bool limit_gemm(SimdLevel level);
/// The version of the loaded oneDNN library: "2.6.3".
std::string gemm_version();
/// oneDNN's name for the instructions that it uses.
std::string gemm_level();

}  // namespace dragoman::backend::cpu
