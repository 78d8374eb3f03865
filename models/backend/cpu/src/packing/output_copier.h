#pragma once

#include "products/gemm.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dragoman::backend::cpu {

/// Copies single outputs between packed matrices of two shapes with equal elements and inputs, without unpacking the
/// rest of the matrix.
class OutputCopier {
 public:
  OutputCopier(GemmElements elements, std::int64_t inputs, std::int64_t from_outputs, std::int64_t to_outputs);

  /// Returns false if oneDNN packs one of the shapes in a layout with unknown addresses. Then copy() must not be
  /// called.
  bool possible() const noexcept { return bytes_ != nullptr || !runs_.empty(); }
  /// The matrices must have the shapes of the constructor. `to` must have been created from zeros.
  void copy(const PackedMatrix& from, std::int64_t output, const PackedMatrix& to, std::int64_t to_output) const;

 private:
  /// Byte offsets of consecutive inputs of output 0 in both matrices.
  struct Run {
    std::size_t from;
    std::size_t to;
  };
  const ByteMatmul* bytes_ = nullptr;  ///< copies instead, unless null
  std::vector<Run> runs_;
  std::size_t run_bytes_ = 0;
  /// Byte offsets of all outputs relative to output 0.
  std::vector<std::size_t> from_outputs_;
  std::vector<std::size_t> to_outputs_;
};

/// Returns true if an output of a matrix of `from_outputs` keeps its bits when it is copied to any position in a matrix
/// of `to_outputs`. Sums of int8 are exact. For other elements this is measured once per process.
bool copies_keep_bits(GemmElements elements, std::int64_t inputs, std::int64_t from_outputs, std::int64_t to_outputs);

}  // namespace dragoman::backend::cpu
