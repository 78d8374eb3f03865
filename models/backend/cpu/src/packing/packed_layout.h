#pragma once

#include "products/gemm.h"
#include "products/onednn.h"

#include <cstddef>
#include <cstdint>
#include <vector>

/// Positions of the elements in a weight that oneDNN has packed.
namespace dragoman::backend::cpu {

constexpr std::size_t kInputs = 0;  // dimensions of packed weights, in oneDNN's order
constexpr std::size_t kOutputs = 1;

/// A blocked layout: outer strides, and dense blocks inside, the last one innermost.
struct Blocks {
  std::vector<onednn::Dimension> strides{};
  std::vector<onednn::Dimension> sizes{};
  std::vector<onednn::Dimension> dimensions{};
  std::vector<onednn::Dimension> padded{};
};

/// Returns an empty value for a layout of another kind.
Blocks blocks_of(const onednn::Layout& layout);

/// Returns true if the memory contains only the elements and their padding, and no sums that correct for signs.
bool holds_elements_only(const onednn::Layout& layout, const Blocks& blocks, std::size_t element_bytes);

/// Returns the distance of index i of one dimension from index 0, in elements. The address of an element is the sum
/// over all dimensions.
std::size_t distance(const Blocks& blocks, std::size_t dimension, std::int64_t i);

/// The size of a weight's element in bytes.
std::size_t element_bytes(GemmElements elements);

}  // namespace dragoman::backend::cpu
