#pragma once

#include "gemm.h"
#include "onednn.h"

#include <compare>
#include <cstdint>

namespace dragoman::backend::cpu {

/// The shape of a weight [outputs, inputs].
struct WeightShape {
  GemmElements elements;
  std::int64_t outputs;
  std::int64_t inputs;
  auto operator<=>(const WeightShape&) const = default;
};

/// Returns the layout that oneDNN prefers for the weight with this many rows.
onednn::Layout preferred_layout(const WeightShape& shape, std::int64_t rows);

/// Copies the weight, whose rows are `stride` elements apart, into `packed` in that memory's layout, and returns
/// `packed`.
dnnl::memory pack(const WeightShape& shape, const void* weight, std::int64_t stride, dnnl::memory packed);

/// y [rows, outputs] = x [rows, inputs] * weight^T, both without gaps, by a kernel for exactly this shape. Kernels
/// identify a weight by its shape alone, so all weights of a shape must be packed in one layout.
void fixed_shape_matmul(const WeightShape& shape, const dnnl::memory& packed, const void* x, std::int64_t rows,
                        void* y);
/// Like the function above, for a packed weight at address `packed`, in a layout without padding.
void fixed_shape_matmul(const WeightShape& shape, const onednn::Layout& layout, const void* packed, const void* x,
                        std::int64_t rows, void* y);

}  // namespace dragoman::backend::cpu
