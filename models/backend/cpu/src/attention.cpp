#include <cmath>

#include "attention_units.h"
#include "dropout_mask.h"
#include "kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "philox-inl.h"
#include "small_gemm-inl.h"
#include "softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Multiplies a row of weights by its dropout factors, from `weights` to `kept`.
HWY_INLINE void drop_weights(const DropoutMask& mask, std::int64_t first, std::int64_t count, const float* weights,
                             float* kept) {
  for_each_masked_chunk(mask, static_cast<std::uint64_t>(first), static_cast<std::size_t>(count),
                        [&](std::size_t begin, std::size_t chunk, const float* factors) HWY_ATTR {
                          for_each_vector(chunk, [&](std::size_t i, auto vector) HWY_ATTR {
                            vector.store(hn::Mul(vector.load(weights + begin + i), vector.load(factors + i)),
                                         kept + begin + i);
                          });
                        });
}

/// Attention of up to kQueryBlock queries from `first` on. `scores` [kQueryBlock, padded keys] is scratch.
HWY_INLINE void attend_queries(const ops::AttentionArguments& arguments, const DropoutMask& mask,
                               const AttentionUnit& unit, std::int64_t first, const float* keys_transposed,
                               float* scores) {
  const std::int64_t count = std::min(kQueryBlock, unit.queries - first);
  const std::int64_t stride = padded_keys(unit.keys);
  const std::int64_t seen = unit.visible(arguments.causal, first + count - 1);
  small_gemm({.m = count,
              .n = padded_keys(seen),
              .k = unit.head_size,
              .factor = 1 / std::sqrt(static_cast<float>(unit.head_size)),
              .a = arguments.q.row<float>(unit.first_query + first) + unit.col,
              .a_row = arguments.q.stride,
              .a_col = 1,
              .b = keys_transposed,
              .b_stride = stride,
              .c = scores,
              .c_stride = stride});
  for (std::int64_t i = 0; i < count; ++i) {
    float* row = scores + i * stride;
    const std::int64_t visible = unit.visible(arguments.causal, first + i);
    softmax_row(row, static_cast<std::size_t>(visible), row);
    std::fill(row + visible, row + unit.keys, 0.0F);
    if (!arguments.probabilities.empty())
      std::copy_n(row, unit.keys, arguments.probabilities.as<float>() + unit.weight_index(arguments, first + i));
    if (mask.active()) drop_weights(mask, unit.weight_index(arguments, first + i), visible, row, row);
  }
  small_gemm({.m = count,
              .n = unit.head_size,
              .k = seen,
              .a = scores,
              .a_row = stride,
              .a_col = 1,
              .b = arguments.v.row<float>(unit.first_key) + unit.col,
              .b_stride = arguments.v.stride,
              .c = arguments.y.row<float>(unit.first_query + first) + unit.col,
              .c_stride = arguments.y.stride});
}

void attention_range(const ops::AttentionArguments& arguments, const DropoutMask& mask, std::int64_t begin,
                     std::int64_t end, float* scratch) {
  for (std::int64_t u = begin; u < end; ++u) {
    const AttentionUnit unit(arguments, u);
    const std::int64_t stride = padded_keys(unit.keys);
    transpose({arguments.k.row<float>(unit.first_key) + unit.col, arguments.k.stride}, unit.keys, unit.head_size,
              scratch, stride);
    for (std::int64_t first = 0; first < unit.queries; first += kQueryBlock)
      attend_queries(arguments, mask, unit, first, scratch, scratch + unit.head_size * stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(attention_range);

void attention(Context& context, const ops::AttentionArguments& arguments) {
  const DropoutMask mask(arguments.rate, arguments.random);
  for_each_unit(
      context, arguments,
      [](const AttentionUnit& unit) { return (unit.head_size + kQueryBlock) * padded_keys(unit.keys); },
      [&](std::int64_t begin, std::int64_t end, float* scratch) {
        HWY_DYNAMIC_DISPATCH(attention_range)(arguments, mask, begin, end, scratch);
      });
}

}  // namespace dragoman::backend::cpu
#endif
