#pragma once

#include "dragoman/backend_cpu/install.h"
#include "byte_matmul.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// All that the kernels ask of oneDNN. Every call runs on the calling thread alone: work is split before it gets here.
namespace dragoman::backend::cpu {

/// Of floats, or of the bits of bf16.
template <class Element>
struct GemmArguments {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const Element* a = nullptr;  ///< [m, k], or [k, m] if transpose_a
  std::int64_t a_stride = 0;
  bool transpose_a = false;
  const Element* b = nullptr;  ///< [k, n], or [n, k] if transpose_b
  std::int64_t b_stride = 0;
  bool transpose_b = false;
  float* c = nullptr;  ///< [m, n]
  std::int64_t c_stride = 0;
  bool accumulate = false;
};

/// c = op(a) * op(b), or c += ...; the product over no elements is 0.
void gemm(const GemmArguments<float>& arguments);
/// The same, with sums in fp32. Fast where has_fast_bf16().
void gemm(const GemmArguments<std::uint16_t>& arguments);

/// What a packed matrix and its products are made of: elements of x, of the weight, and of the product. Not what is
/// computed in: rounded numbers may be multiplied as floats, and both types of int8 as bytes.
enum class GemmElements : std::uint8_t {
  kF32,   ///< float, float, float
  kBF16,  ///< bf16, bf16, float
  kI8,    ///< uint8, int8, int32; the sums are exact if no two neighbouring products add up to more than 16 bits hold,
          ///< or if sums_bytes_exactly()
};
/// Whether oneDNN's kernels add products of bytes in 32 bits, as VNNI and AMX do; older instructions cut the sum of two
/// neighbouring ones to 16.
bool sums_bytes_exactly();
/// The best instructions for products of bytes that oneDNN's kernels use.
enum class ByteInstructions : std::uint8_t { kAvx2, kVnni, kOther };
ByteInstructions byte_instructions();
/// The instructions that make products of bf16 faster than those of floats, if there are any: AMX, or AVX512_BF16 on
/// AMD's processors (from Zen 4 on), where one of them multiplies twice as many bf16 as another floats. Intel's without
/// AMX multiply half as many.
enum class Bf16Instructions : std::uint8_t { kNone, kPairs, kTiles };
Bf16Instructions bf16_instructions();
inline bool has_fast_bf16() {
  return bf16_instructions() != Bf16Instructions::kNone;
}

/// A weight matrix [outputs, inputs] in the layout that oneDNN's matmul reads fastest, or in that of byte_matmul().
class PackedMatrix {
 public:
  /// Bytes that the packed form takes.
  static std::size_t bytes(GemmElements elements, std::int64_t outputs, std::int64_t inputs);

  /// Packs `weight`, of these elements, whose rows lie `stride` elements apart, into `storage` (64-byte aligned,
  /// bytes() long), which must outlive the object.
  PackedMatrix(GemmElements elements, const void* weight, std::int64_t stride, std::int64_t outputs,
               std::int64_t inputs, void* storage);
  /// Of zeros.
  PackedMatrix(GemmElements elements, std::int64_t outputs, std::int64_t inputs, void* storage);
  ~PackedMatrix();
  PackedMatrix(PackedMatrix&&) noexcept;
  PackedMatrix& operator=(PackedMatrix&&) noexcept;

  GemmElements elements() const noexcept { return elements_; }
  std::int64_t outputs() const noexcept { return outputs_; }
  std::int64_t inputs() const noexcept { return inputs_; }
  /// The packed form.
  void* storage() const noexcept { return storage_; }

  /// y [rows, outputs] = x [rows, inputs] * weight^T, without gaps between rows: oneDNN 2.6 was seen to choose another
  /// order of summation for another stride of y. `rows` must be one of row_buckets(). Without sums_bytes_exactly(),
  /// bytes of x are at most 127.
  void multiply(const void* x, std::int64_t rows, void* y) const;

  /// The width, `wanted` or somewhat more or less, of parts of the outputs whose products have the bits that they have
  /// in the product of the whole, of so many rows, one of row_buckets(); 0: there are none. What is not of bytes is
  /// tried out when it is first asked for.
  std::int64_t part_width(std::int64_t rows, std::int64_t wanted) const;
  /// y [rows, stride] = x [rows, inputs] * those outputs of the weight^T: a part that begins at a multiple of
  /// part_width() and is so long, or as what is left. Gives the stride, at most kMaxPartPadding more than the outputs
  /// of the part.
  std::int64_t multiply_part(const OutputRange& part, const void* x, std::int64_t rows, void* y) const;
  static constexpr std::int64_t kMaxPartPadding = 63;

  /// The row counts (rising) for which the bits of a row of y have been seen to depend neither on the row count nor on
  /// the place of the row.
  std::span<const std::int64_t> row_buckets() const noexcept { return buckets_; }

 private:
  struct Memory;

  ByteShape byte_shape() const noexcept { return {outputs_, inputs_}; }

  GemmElements elements_;
  std::int64_t outputs_;
  std::int64_t inputs_;
  void* storage_;
  const ByteMatmul* bytes_ = nullptr;  ///< what multiplies it; else oneDNN does
  std::unique_ptr<Memory> memory_;     ///< oneDNN's view of the storage, if it is oneDNN's
  std::span<const std::int64_t> buckets_;
};

/// Holds oneDNN down to `level`; false if it is too late for that.
bool limit_gemm(SimdLevel level);
/// "2.6.3": oneDNN's, of the library that is loaded.
std::string gemm_version();
/// oneDNN's own name of the instructions that it uses.
std::string gemm_level();

}  // namespace dragoman::backend::cpu
