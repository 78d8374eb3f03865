#include "packed_layout.h"

#include <dragoman/core/error.h>

namespace dragoman::backend::cpu {

Blocks blocks_of(const onednn::Layout& layout) {
  Blocks blocks;
#if DNNL_VERSION_MAJOR >= 3
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked || layout.get_submemory_offset() != 0) return {};
  blocks.strides = layout.get_strides();
  blocks.sizes = layout.get_inner_blks();
  blocks.dimensions = layout.get_inner_idxs();
  blocks.padded = layout.get_padded_dims();
#else
  if (layout.data.format_kind != dnnl_blocked || layout.data.offset0 != 0) return {};
  const dnnl_blocking_desc_t& blocking = layout.data.format_desc.blocking;
  const auto inner = static_cast<std::size_t>(blocking.inner_nblks);
  blocks.strides.assign(blocking.strides, blocking.strides + 2);
  blocks.sizes.assign(blocking.inner_blks, blocking.inner_blks + inner);
  blocks.dimensions.assign(blocking.inner_idxs, blocking.inner_idxs + inner);
  blocks.padded.assign(layout.data.padded_dims, layout.data.padded_dims + 2);
#endif
  return blocks;
}

bool holds_elements_only(const onednn::Layout& layout, const Blocks& blocks, std::size_t element_bytes) {
  return !blocks.strides.empty() &&
         layout.get_size() ==
             static_cast<std::size_t>(blocks.padded[kInputs] * blocks.padded[kOutputs]) * element_bytes;
}

std::size_t distance(const Blocks& blocks, std::size_t dimension, std::int64_t i) {
  onednn::Dimension result = 0;
  onednn::Dimension step = 1;
  for (std::size_t b = blocks.sizes.size(); b-- > 0;) {
    if (static_cast<std::size_t>(blocks.dimensions[b]) == dimension) {
      result += i % blocks.sizes[b] * step;
      i /= blocks.sizes[b];
    }
    step *= blocks.sizes[b];
  }
  return static_cast<std::size_t>(result + i * blocks.strides[dimension]);
}

std::size_t element_bytes(GemmElements elements) {
  switch (elements) {
    case GemmElements::kF32:
      return sizeof(float);
    case GemmElements::kBF16:
      return sizeof(std::uint16_t);
    case GemmElements::kI8:
      return sizeof(std::int8_t);
  }
  core::fail(core::ErrorCode::kInternal, "unknown elements of a matrix product");
}

}  // namespace dragoman::backend::cpu
