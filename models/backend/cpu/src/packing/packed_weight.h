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

/// The outputs per panel of a weight with this many outputs. Only projections to a vocabulary are divided. The logits
/// of a panel for 128 rows (1 MiB) stay in the second-level cache until they are processed.
inline std::int64_t panel_width(std::int64_t outputs) {
  constexpr std::int64_t kWidest = 4096;
  constexpr std::int64_t kPanelOutputs = 2048;
  return outputs <= kWidest ? outputs : kPanelOutputs;
}

/// Consecutive outputs of a weight, packed in one of the compute types.
struct Panel {
  tensor::ComputeType type;
  PackedMatrix matrix;
  /// For int8: the scale of each output, and the contribution of the activations' zero point to its sum.
  std::vector<float> scales{};
  std::vector<std::int32_t> zero_sums{};

  /// Packs rows [begin, begin + outputs) into `storage`, which has panel_bytes() bytes and must outlive the panel.
  static Panel pack(const tensor::StoredMatrix& weight, std::int64_t begin, std::int64_t outputs,
                    tensor::ComputeType type, void* storage);
};
std::size_t panel_bytes(tensor::ComputeType type, std::int64_t outputs, std::int64_t inputs);

/// The result of ops::kPackWeight: the weight in panels of panel_width() outputs. The last panel may be narrower.
class PackedPanels final : public tensor::PackedWeight {
 public:
  /// `weight` [N, K] may have any type that files store.
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

/// Casts the opaque type to the packed form. Error{kInvalidArgument} if another backend created it.
const PackedPanels& panels_of(const tensor::PackedWeight& weight);

/// The number of floats of scratch memory that multiply_rows() needs with this panel.
std::size_t multiply_scratch(const Panel& panel);
/// Like the function above, for at most `rows` rows.
std::size_t multiply_scratch(const Panel& panel, std::int64_t rows);

/// The memory of a product's rows, which are `stride` apart. The caller knows their number and length. Rows of int8
/// products are sums that are not yet dequantised.
struct ProductRows {
  float* data;
  std::int64_t stride;
  Dequantization dequantization{};
};

/// How int8 products of rows with these scales become floats.
Dequantization dequantization_of(const Panel& panel, const float* row_scales);

/// Multiplies x [rows, inputs] * panel^T for any number of rows. Each row has the same bits as if it were alone. Rows
/// are divided into buckets, and incomplete buckets are padded with zero rows in `scratch`.
///
/// Calls finish(first row, number of rows, product) for consecutive rows. The product is in `y` if that has data and
/// the rows fill a bucket without gaps. Otherwise it is in scratch memory. finish() may change it.
void multiply_rows(const Panel& panel, const FloatRows& x, const ProductRows& y, float* scratch,
                   core::FunctionRef<void(std::int64_t, std::int64_t, const ProductRows&)> finish);

/// Like multiply_rows(), for rows that are already int8 values. `x` is [rows, inputs] without gaps. It must have room
/// for twice the rows of the largest bucket; the contents of the additional room are irrelevant. `scales` has one value
/// for each row and must outlive the calls of finish().
void multiply_numbers(const Panel& panel, std::uint8_t* x, const float* scales, std::int64_t rows, const ProductRows& y,
                      float* scratch, core::FunctionRef<void(std::int64_t, std::int64_t, const ProductRows&)> finish);

/// Returns the number of parts into which a product should be divided for the executor's threads; 1 if sharing is not
/// worthwhile.
std::int64_t parts_worth_sharing(const core::Executor& executor, const Panel& panel, std::int64_t rows);

/// Runs multiply_rows() for at most kMaxSharedRows rows on all threads of the executor. Each thread computes products
/// with some of the outputs. Returns false, without an effect, if that is not worthwhile or would change bits. Calls
/// finish(tile, product), on the thread that computed it, for each part of the rows and outputs of the panel.
bool multiply_rows_shared(core::Executor& executor, const Panel& panel, const FloatRows& x, float* scratch,
                          core::FunctionRef<void(const Tile&, const ProductRows&)> finish);
constexpr std::int64_t kMaxSharedRows = 256;

}  // namespace dragoman::backend::cpu
