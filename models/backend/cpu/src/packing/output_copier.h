#pragma once

#include "products/gemm.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dragoman::backend::cpu {

/// Copies single outputs between packed matrices of two shapes with equal elements and inputs, without unpacking the
/// rest.
class OutputCopier {
 public:
  OutputCopier(GemmElements elements, std::int64_t inputs, std::int64_t from_outputs, std::int64_t to_outputs);

  /// False if oneDNN packs one of the shapes in a form whose addresses are not known; then there is no copying.
  bool possible() const noexcept { return bytes_ != nullptr || !runs_.empty(); }
  /// The matrices are of those shapes; `to` was made of zeros.
  void copy(const PackedMatrix& from, std::int64_t output, const PackedMatrix& to, std::int64_t to_output) const;

 private:
  /// Where consecutive inputs of output 0 lie in both matrices, in bytes.
  struct Run {
    std::size_t from;
    std::size_t to;
  };
  const ByteMatmul* bytes_ = nullptr;  ///< what copies instead
  std::vector<Run> runs_;
  std::size_t run_bytes_ = 0;
  /// What further outputs are away from output 0, in bytes.
  std::vector<std::size_t> from_outputs_;
  std::vector<std::size_t> to_outputs_;
};

/// Whether an output of a matrix of `from_outputs` has the same bits when it stands in one of `to_outputs`, at whatever
/// place. Sums of int8 are exact; of others it is tried out, once per process.
bool copies_keep_bits(GemmElements elements, std::int64_t inputs, std::int64_t from_outputs, std::int64_t to_outputs);

}  // namespace dragoman::backend::cpu
