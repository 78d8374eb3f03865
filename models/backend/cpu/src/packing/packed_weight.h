#pragma once

#include "products/blocks.h"
#include "products/gemm.h"
#include "simd/rounding.h"

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

/// Some outputs of a weight, packed in one of the compute types.
struct Panel {
  tensor::ComputeType type;
  PackedMatrix matrix;
  /// Of int8: the scale of each output, and what the zero point of the activations adds to its sum.
  std::vector<float> scales{};
  std::vector<std::int32_t> zero_sums{};

  /// Packs rows [begin, begin + outputs) into `storage`, which has panel_bytes() and outlives the panel.
  static Panel pack(const tensor::StoredMatrix& weight, std::int64_t begin, std::int64_t outputs,
                    tensor::ComputeType type, void* storage);
};
std::size_t panel_bytes(tensor::ComputeType type, std::int64_t outputs, std::int64_t inputs);

/// What the kernel of ops::kPackWeight makes: the weight in panels of panel_width() outputs, the last one perhaps
/// narrower.
class PackedPanels final : public tensor::PackedWeight {
 public:
  /// `weight` [N, K] is as files store it, in any type.
  PackedPanels(tensor::DeviceMemory& memory, const tensor::StoredMatrix& weight, tensor::ComputeType type);

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  tensor::ComputeType type() const override { return type_; }
  std::span<const Panel> panels() const noexcept { return panels_; }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  tensor::ComputeType type_;
  tensor::Buffer storage_;
  std::vector<Panel> panels_;
};

/// The packed form behind the opaque type; Error{kInvalidArgument} if another backend made it.
const PackedPanels& panels_of(const tensor::PackedWeight& weight);

/// Floats of scratch memory that multiply_rows needs with this panel.
std::size_t multiply_scratch(const Panel& panel);
/// The same for so few rows.
std::size_t multiply_scratch(const Panel& panel, std::int64_t rows);

/// Where rows of a product lie, `stride` apart; how many, and how long, is known from elsewhere. Those of int8 are sums
/// yet.
struct ProductRows {
  float* data;
  std::int64_t stride;
  Dequantization dequantization{};
};

/// x [rows, inputs] * panel^T for any number of rows, each row with the same bits as if it were alone. Rows are cut
/// into buckets, and what is missing to a bucket is padded with zero rows in `scratch`. Calls finish(first row, number
/// of rows, product) for consecutive rows; the product lies in `y` (if it has data) where that fills a bucket, else in
/// scratch memory, and may be changed.
void multiply_rows(const Panel& panel, const FloatRows& x, const ProductRows& y, float* scratch,
                   core::FunctionRef<void(std::int64_t, std::int64_t, const ProductRows&)> finish);

/// The same of rows that are numbers of int8 already: `x` [rows, inputs] without gaps, with room for twice as many rows
/// as the largest bucket has, of whose contents nothing is expected; `scales`, one for each row, outlive the calls of
/// finish().
void multiply_numbers(const Panel& panel, std::uint8_t* x, const float* scales, std::int64_t rows, const ProductRows& y,
                      float* scratch, core::FunctionRef<void(std::int64_t, std::int64_t, const ProductRows&)> finish);

/// How many parts a product is worth being cut into that the executor's threads then make; 1: it is not.
std::int64_t parts_worth_sharing(const core::Executor& executor, const Panel& panel, std::int64_t rows);

/// Runs multiply_rows() for at most kMaxSharedRows rows on all threads of the executor; each thread makes products with
/// some of the outputs. Returns false, without an effect, if that is not worthwhile or would change bits. Calls
/// finish(tile, product), on the thread that made it, for each part of the rows and outputs of the panel.
bool multiply_rows_shared(core::Executor& executor, const Panel& panel, const FloatRows& x, float* scratch,
                          core::FunctionRef<void(const Tile&, const ProductRows&)> finish);
constexpr std::int64_t kMaxSharedRows = 256;

}  // namespace dragoman::backend::cpu
