#pragma once

#include "products/fixed_shape_matmul.h"

#include <cstdint>
#include <vector>

namespace dragoman::backend::cpu {

/// How weights of a shape are packed, and the row counts (rising, 1 among them) for which a row of their product was
/// seen to have the same bits whatever the row count and the place of the row.
struct PackedShape {
  onednn::Layout layout;
  std::vector<std::int64_t> buckets;
};

/// Probed once per shape and process; the reference stays valid.
const PackedShape& packed_shape(const WeightShape& shape);

}  // namespace dragoman::backend::cpu
