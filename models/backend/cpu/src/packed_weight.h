#pragma once

#include "gemm.h"

#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/core/function_ref.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/packed_weight.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::backend::cpu {

/// Outputs per panel of a weight with so many outputs. Only projections to a vocabulary are cut: a panel's logits for
/// 128 rows (1 MiB) stay in the second-level cache until they have been looked through.
inline std::int64_t panel_width(std::int64_t outputs) {
  constexpr std::int64_t kWidest = 4096;
  constexpr std::int64_t kPanelOutputs = 2048;
  return outputs <= kWidest ? outputs : kPanelOutputs;
}

/// What the kernel of ops::kPackWeight makes: the weight in panels of panel_width() outputs, the last one perhaps
/// narrower.
class PackedPanels final : public tensor::PackedWeight {
 public:
  /// `weight` [N, K] may be F32, F16 or BF16.
  PackedPanels(tensor::DeviceMemory& memory, const tensor::Tensor& weight);

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  std::span<const PackedMatrix> panels() const noexcept { return panels_; }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  tensor::Buffer storage_;
  std::vector<PackedMatrix> panels_;
};

/// The packed form behind the opaque type; Error{kInvalidArgument} if another backend made it.
const PackedPanels& panels_of(const tensor::PackedWeight& weight);

/// Floats of scratch memory that multiply_rows needs with this matrix.
std::size_t multiply_scratch(const PackedMatrix& matrix);

/// Rows of floats that lie `stride` apart.
struct Rows {
  float* data;
  std::int64_t stride;
};

/// x [rows, inputs] * matrix^T for any number of rows, each row with the same bits as if it were alone. Rows are cut
/// into buckets, and what is missing to a bucket is padded with zero rows in `scratch`. Calls finish(first row, number
/// of rows, product) for consecutive rows; the product lies in `y` where that fills a bucket, else in scratch memory,
/// and may be changed.
void multiply_rows(const PackedMatrix& matrix, const float* x, std::int64_t x_stride, std::int64_t rows, const Rows& y,
                   float* scratch, core::FunctionRef<void(std::int64_t, std::int64_t, const Rows&)> finish);

}  // namespace dragoman::backend::cpu
