#pragma once

#include "products/fixed_shape_matmul.h"

#include <cstddef>
#include <cstdint>

namespace dragoman::backend::cpu {

/// Some outputs of a packed weight, as a weight of its own in the same memory.
struct OutputPart {
  WeightShape shape;  ///< its outputs may be more than were asked for: the rest are padding of the whole
  const onednn::Layout* layout;
  std::size_t offset;  ///< in bytes, of the packed weight
};

/// How a weight of floats or bf16 that oneDNN has packed is cut into parts of kWidth outputs. Thread-safe.
class OutputParts {
 public:
  static constexpr std::int64_t kWidth = 128;
  /// Products have at most so many outputs more than the weight.
  static constexpr std::int64_t kMaxPadding = 63;

  virtual ~OutputParts() = default;
  /// Whether the outputs of every part have the bits that they have in the product of the whole, of so many rows, which
  /// is tried out when it is first asked for. So they are not multiplied in parts elsewhere.
  virtual bool keep_bits(std::int64_t rows) = 0;
  /// That begins with output `first`, a multiple of kWidth.
  virtual OutputPart part(std::int64_t first) const = 0;
};

/// nullptr: the layout of such weights, or of their parts, does not allow it. One for each shape and process.
OutputParts* output_parts(const WeightShape& shape);

}  // namespace dragoman::backend::cpu
