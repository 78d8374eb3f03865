#include "products/blocks.h"
#include "dropout_mask.h"
#include "kernels.h"

#include <dragoman/ops/dropout.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/dropout.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

void dropout_tile(const ops::DropoutArguments& arguments, const DropoutMask& mask, const Tile& tile) {
  for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) {
    const float* x = arguments.x.row<float>(r) + tile.col_begin;
    float* y = arguments.y.row<float>(r) + tile.col_begin;
    const auto first = static_cast<std::uint64_t>(r * arguments.y.cols + tile.col_begin);
    for_each_masked_chunk(
        mask, first, tile.width(), [&](std::size_t begin, std::size_t count, const float* factors) HWY_ATTR {
          for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
            const Floats kept = hn::Mul(vector.load(x + begin + i), vector.load(factors + i));
            vector.store(arguments.accumulate ? hn::Add(vector.load(y + begin + i), kept) : kept, y + begin + i);
          });
        });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(dropout_tile);

void drop_tile(const ops::DropoutArguments& arguments, const DropoutMask& mask, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(dropout_tile)(arguments, mask, tile);
}

template <>
void kernel(Context& context, const ops::DropoutArguments& arguments) {
  const DropoutMask mask(arguments.rate, arguments.random);
  for_each_tile(context.executor(), arguments.y.rows, arguments.y.cols,
                [&](const Tile& tile) { drop_tile(arguments, mask, tile); });
}

}  // namespace dragoman::backend::cpu
#endif
