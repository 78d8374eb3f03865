#pragma once

#include "products/fixed_shape_matmul.h"

#include <cstddef>
#include <cstdint>

namespace dragoman::backend::cpu {

/// A range of outputs in a packed weight, viewed as a separate weight in the same memory.
struct OutputPart {
  WeightShape shape;  ///< may have more outputs than the range; the others are padding of the whole
  const onednn::Layout* layout;
  std::size_t offset;  ///< in bytes, relative to the packed weight
};

/// Divides an fp32 or bf16 weight that oneDNN has packed into parts of kWidth outputs. Thread-safe.
class OutputParts {
 public:
  static constexpr std::int64_t kWidth = 128;
  /// The largest number of outputs by which the products exceed the weight.
  static constexpr std::int64_t kMaxPadding = 63;

  virtual ~OutputParts() = default;
  /// Returns true if products of the parts have the same bits as the product of the whole, for this number of rows.
  /// Measured on the first call for each number of rows. If it returns false, do not multiply in parts.
  virtual bool keep_bits(std::int64_t rows) = 0;
  /// Returns the part that begins with output `first`, a multiple of kWidth.
  virtual OutputPart part(std::int64_t first) const = 0;
};

/// Returns nullptr if the layout of such weights or of their parts does not allow parts. There is one object for each
/// shape and process.
OutputParts* output_parts(const WeightShape& shape);

}  // namespace dragoman::backend::cpu
