#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dragoman::backend::cuda {

/// What the inputs of a product are. Sums are fp32; of int8 they are exact, of 32 bits, and so is the result.
enum class GemmType : std::uint8_t { kF32, kBF16, kF16, kI8 };

/// The activation functions that libraries compute while they have the sums in registers. kGeluTanh is the
/// approximation of GELU by tanh. Libraries have none for GELU by the error function.
enum class GemmActivation : std::uint8_t { kNone, kRelu, kGeluTanh };

/// c = activation(op(a) op(b) + bias), with a bias for each column, or c += op(a) op(b) + bias: of row-major matrices,
/// [rows, cols] = [rows, inner] [inner, cols]. Strides are of elements.
struct GemmShape {
  GemmType type = GemmType::kF32;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  bool bias = false;
  GemmActivation activation = GemmActivation::kNone;  ///< not with `accumulate`
  bool keeps_input = false;                           ///< of kGeluTanh
  /// All addresses, and all rows in bytes, are multiples of so many bytes; 16 at most.
  int alignment = 16;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t inner = 0;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
  std::int64_t c_stride = 0;
  std::int64_t input_stride = 0;
  auto operator<=>(const GemmShape&) const = default;
};

struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const float* bias = nullptr;
  float* activation_input = nullptr;  ///< receives what the activation function is applied to, if it is kept
};

/// A way to compute a product, as the library has it.
struct GemmAlgorithm {
  std::array<std::uint64_t, 8> words{};
  auto operator<=>(const GemmAlgorithm&) const = default;
};

/// Bytes; the address of a workspace is a multiple of it (NVIDIA, cuBLAS: cublasLtMatmul()).
inline constexpr std::size_t kWorkspaceAlignment = 256;
/// Bytes that the address of a bias, and of a kept activation input, is a multiple of. No preference tells the library
/// of another alignment, so it may choose kernels that read vectors (cublasLt.h, CUBLASLT_MATMUL_DESC_BIAS_POINTER).
inline constexpr std::size_t kEpilogueAlignment = 16;
/// The stride of a kept activation input is a multiple of this (cublasLt.h, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD).
inline constexpr std::int64_t kInputStrideUnit = 8;

/// A library of matrix products, on one device. What it launches is in the order of the calling thread's stream.
/// Thread-safe. Error{kInternal} for what fails.
class GemmLibrary {
 public:
  virtual ~GemmLibrary() = default;
  /// What a list of candidates and their times depend on: versions and the device.
  virtual std::string identity() const = 0;
  /// Algorithms for the shape, the best by the library's own rule first; the same list whenever the identity is the
  /// same. Each has the same bits on every run. `split`: a sum may be cut into parts that are computed at a time.
  virtual std::vector<GemmAlgorithm> candidates(const GemmShape& shape, bool split) const = 0;
  /// Bytes of scratch memory that the algorithm takes; nothing if it cannot do the shape.
  virtual std::optional<std::size_t> workspace(const GemmShape& shape, const GemmAlgorithm& algorithm) const = 0;
  /// `workspace` is a multiple of kWorkspaceAlignment.
  virtual void run(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm,
                   void* workspace, std::size_t workspace_bytes) const = 0;
  /// Seconds that a run takes; waits for the device.
  virtual double time(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm,
                      void* workspace, std::size_t workspace_bytes) const = 0;
  /// Whether what the calling thread launches is kept for later, so that nothing can be waited for.
  virtual bool recording() const = 0;
};

}  // namespace dragoman::backend::cuda
