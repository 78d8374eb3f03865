#pragma once

#include "products/gemm.h"
#include "products/onednn.h"

#include <cstddef>
#include <cstdint>
#include <vector>

/// Where the elements of a weight lie that oneDNN has packed.
namespace dragoman::backend::cpu {

constexpr std::size_t kInputs = 0;  // the dimensions of packed weights, in oneDNN's order
constexpr std::size_t kOutputs = 1;

/// A blocked layout: outer strides, and dense blocks inside, the last one innermost.
struct Blocks {
  std::vector<onednn::Dimension> strides{};
  std::vector<onednn::Dimension> sizes{};
  std::vector<onednn::Dimension> dimensions{};
  std::vector<onednn::Dimension> padded{};
};

/// Nothing of a layout that is not of this kind.
Blocks blocks_of(const onednn::Layout& layout);

/// Whether the memory holds the elements, with what pads them, and nothing else, such as sums that correct for signs.
bool holds_elements_only(const onednn::Layout& layout, const Blocks& blocks, std::size_t element_bytes);

/// How far index i of one dimension is from index 0, in elements. What all dimensions add up to is the address.
std::size_t distance(const Blocks& blocks, std::size_t dimension, std::int64_t i);

/// Bytes of an element of a weight.
std::size_t element_bytes(GemmElements elements);

}  // namespace dragoman::backend::cpu
