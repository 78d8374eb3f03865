#include "byte_matmul.h"

#include "products/gemm.h"
#include "simd/tile_registers.h"

#include <cstring>

#include <dragoman/core/error.h>
#include <dragoman/tensor/int8.h>

namespace dragoman::backend::cpu {

const ByteMatmul* byte_matmul(const ByteShape& shape) {
  if (shape.inputs == 0 || shape.inputs > tensor::kMaxInt8Inputs) return nullptr;
  const bool grouped = shape.inputs % kGroupInputs == 0;
  switch (byte_instructions()) {
    case ByteInstructions::kAvx2:
      return grouped ? &paired_matmul() : nullptr;
    case ByteInstructions::kTiles:
      if (shape.inputs % kTileInputs == 0 && may_use_tiles()) return &tile_matmul();
      [[fallthrough]];
    case ByteInstructions::kVnni:
      return grouped ? &vnni_matmul() : nullptr;
    case ByteInstructions::kPlain:
      return &plain_matmul();
    case ByteInstructions::kOther:
      return nullptr;
  }
  return nullptr;
}

void ByteMatmul::multiply_and_finish(const ByteShape& /*shape*/, const void* /*packed*/, const std::uint8_t* /*x*/,
                                     std::int64_t /*rows*/, const ByteFinish& /*finish*/) const {
  core::fail(core::ErrorCode::kInternal, "this kernel computes sums only");
}

void GroupedByteMatmul::pack(const ByteShape& shape, const std::int8_t* weight, std::int64_t stride,
                             void* packed) const {
  pack_zeros(shape, packed);
  for (std::int64_t output = 0; output < shape.outputs; ++output) {
    const Groups to = groups_of(shape, packed, output);
    const std::int8_t* row = weight + output * stride;
    for (std::int64_t group = 0; group < shape.inputs / kGroupInputs; ++group)
      std::memcpy(to[group], row + group * kGroupInputs, kGroupInputs);
  }
}

void GroupedByteMatmul::pack_zeros(const ByteShape& shape, void* packed) const {
  std::memset(packed, 0, bytes(shape));
}

void GroupedByteMatmul::copy(const ByteShape& from_shape, const void* from, std::int64_t output,
                             const ByteShape& to_shape, void* to, std::int64_t to_output) const {
  const Groups source = groups_of(from_shape, from, output);
  const Groups target = groups_of(to_shape, to, to_output);
  for (std::int64_t group = 0; group < from_shape.inputs / kGroupInputs; ++group)
    std::memcpy(target[group], source[group], kGroupInputs);
}

}  // namespace dragoman::backend::cpu
