#pragma once

#include "gemm.h"
#include "onednn.h"

#include <compare>
#include <cstdint>

namespace dragoman::backend::cpu {

/// Of a weight [outputs, inputs].
struct WeightShape {
  GemmElements elements;
  std::int64_t outputs;
  std::int64_t inputs;
  auto operator<=>(const WeightShape&) const = default;
};

/// The layout that oneDNN wants the weight in for this many rows.
onednn::Layout preferred_layout(const WeightShape& shape, std::int64_t rows);

/// Copies the weight, whose rows lie `stride` elements apart, into `packed`, in the layout of that, and gives it back.
dnnl::memory pack(const WeightShape& shape, const void* weight, std::int64_t stride, dnnl::memory packed);

/// y [rows, outputs] = x [rows, inputs] * weight^T, both without gaps, by a kernel for just this shape. Kernels know a
/// weight by its shape alone, so all weights of a shape must be packed in one layout.
void fixed_shape_matmul(const WeightShape& shape, const dnnl::memory& packed, const void* x, std::int64_t rows,
                        void* y);
/// The same of a weight that lies packed at `packed`, in a layout without padding.
void fixed_shape_matmul(const WeightShape& shape, const onednn::Layout& layout, const void* packed, const void* x,
                        std::int64_t rows, void* y);

}  // namespace dragoman::backend::cpu
