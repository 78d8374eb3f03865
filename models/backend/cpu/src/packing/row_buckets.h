#pragma once

#include "products/fixed_shape_matmul.h"

#include <cstdint>
#include <vector>

namespace dragoman::backend::cpu {

/// The layout for weights of a shape, and the row counts (ascending, including 1) for which products are stable. In
/// these, the bits of a row were observed not to depend on the row count or the position of the row.
struct PackedShape {
  onednn::Layout layout;
  std::vector<std::int64_t> buckets;
};

/// Probed once per shape and process. The reference stays valid.
const PackedShape& packed_shape(const WeightShape& shape);

}  // namespace dragoman::backend::cpu
