#include <algorithm>
#include <limits>

#include "attention_units.h"
#include "training/dropout_mask.h"
#include "kernels.h"

#include <dragoman/ops/attention.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/philox-inl.h"
#include "products/small_gemm-inl.h"
#include "simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Scratch memory of one unit.
struct ForwardScratch {
  float* keys_transposed;  ///< [head_size, padded keys]
  float* scores;           ///< [kQueryBlock, padded keys]
  float* factors;          ///< [kQueryBlock * padded keys]: dropout factors of the weights, [count, keys] without gaps
};

/// Turns a row of scores into weights. The weights of invisible keys become 0.
HWY_INLINE void weigh_keys(float* row, std::int64_t visible, std::int64_t keys) {
  softmax_row(row, static_cast<std::size_t>(visible), row);
  std::fill(row + visible, row + keys, 0.0F);
}

/// Adds a head's biases by distance to the scores of the first `keys` keys, for a query at key `place`.
HWY_INLINE void add_bias(const float* bias, std::int64_t reach, std::int64_t place, std::int64_t keys, float* row) {
  const BiasOfRow of(place, reach, keys);
  const auto add_one = [row](std::int64_t begin, std::int64_t end, float value) HWY_ATTR {
    for_each_vector(static_cast<std::size_t>(end - begin), [&](std::size_t i, auto vector) HWY_ATTR {
      vector.store(hn::Add(vector.load(row + begin + i), set(value)), row + begin + i);
    });
  };
  add_one(0, of.near, bias[0]);
  for_each_vector(static_cast<std::size_t>(of.far - of.near), [&](std::size_t i, auto vector) HWY_ATTR {
    float* score = row + of.near + i;
    vector.store(hn::Add(vector.load(score), vector.load(bias + of.first + i)), score);
  });
  add_one(of.far, keys, bias[2 * reach]);
}

HWY_INLINE void copy_row(const float* from, std::int64_t count, float* to) {
  for_each_vector(static_cast<std::size_t>(count),
                  [&](std::size_t i, auto vector) HWY_ATTR { vector.store(load(from + i), to + i); });
}

HWY_INLINE void multiply_row(const float* factors, std::int64_t count, float* row) {
  for_each_vector(static_cast<std::size_t>(count), [&](std::size_t i, auto vector) HWY_ATTR {
    vector.store(hn::Mul(load(row + i), load(factors + i)), row + i);
  });
}

/// Attention of up to kQueryBlock queries from `first` on.
HWY_INLINE void attend_queries(const ops::AttentionArguments& arguments, const DropoutMask& mask, const float* biases,
                               const AttentionUnit& unit, std::int64_t first, const ForwardScratch& scratch) {
  const std::int64_t count = std::min(kQueryBlock, unit.queries - first);
  const std::int64_t stride = padded_keys(unit.keys);
  const std::int64_t seen = unit.visible(arguments.causal, first + count - 1);
  small_gemm({.m = count,
              .n = padded_keys(seen),
              .k = unit.head_size,
              .factor = ops::score_scale<float>(arguments.scale, unit.head_size),
              .a = arguments.q.row<float>(unit.first_query + first) + unit.col,
              .a_row = arguments.q.stride,
              .a_col = 1,
              .b = scratch.keys_transposed,
              .b_stride = stride,
              .c = scratch.scores,
              .c_stride = stride});
  if (mask.active())
    many_mask_factors(mask, static_cast<std::uint64_t>(unit.weight_index(first)),
                      static_cast<std::size_t>(count * unit.keys), scratch.factors);
  for (std::int64_t i = 0; i < count; ++i) {
    float* row = scratch.scores + i * stride;
    const std::int64_t visible = unit.visible(arguments.causal, first + i);
    if (biases != nullptr)
      add_bias(biases + unit.head * arguments.bias.rows, ops::bias_reach(arguments.bias),
               first + i + unit.keys - unit.queries, visible, row);
    weigh_keys(row, visible, unit.keys);
    if (!arguments.probabilities.empty())
      copy_row(row, unit.keys, arguments.probabilities.as<float>() + unit.weight_index(first + i));
    if (mask.active()) multiply_row(scratch.factors + i * unit.keys, unit.keys, row);
  }
  small_gemm({.m = count,
              .n = unit.head_size,
              .k = seen,
              .a = scratch.scores,
              .a_row = stride,
              .a_col = 1,
              .b = arguments.v.row<float>(unit.first_key) + unit.col,
              .b_stride = arguments.v.stride,
              .c = arguments.y.row<float>(unit.first_query + first) + unit.col,
              .c_stride = arguments.y.stride});
}

void attention_range(const ops::AttentionArguments& arguments, const DropoutMask& mask, const float* biases,
                     const std::int64_t* first_weights, std::int64_t begin, std::int64_t end, float* scratch) {
  for (std::int64_t u = begin; u < end; ++u) {
    const AttentionUnit unit(arguments, first_weights, u);
    const std::int64_t stride = padded_keys(unit.keys);
    float* scores = scratch + unit.head_size * stride;
    const ForwardScratch parts{scratch, scores, scores + kQueryBlock * stride};
    transpose(arguments.k.row<float>(unit.first_key) + unit.col, arguments.k.stride, unit.keys, unit.head_size, scratch,
              stride);
    for (std::int64_t first = 0; first < unit.queries; first += kQueryBlock)
      attend_queries(arguments, mask, biases, unit, first, parts);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(attention_range);

template <>
void kernel(Context& context, const ops::AttentionArguments& arguments) {
  const DropoutMask mask(arguments.rate, arguments.random);
  const tensor::ScratchScope scratch_scope(context.arena());
  const float* biases = bias_by_head(context, arguments);
  for_each_unit(
      context, arguments,
      [](const AttentionUnit& unit) { return (unit.head_size + 2 * kQueryBlock) * padded_keys(unit.keys) + 16; },
      [&](const std::int64_t* first_weights, std::int64_t begin, std::int64_t end, float* scratch) {
        HWY_DYNAMIC_DISPATCH(attention_range)(arguments, mask, biases, first_weights, begin, end, scratch);
      });
}

}  // namespace dragoman::backend::cpu
#endif
