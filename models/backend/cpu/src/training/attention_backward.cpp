#include <algorithm>

#include "layers/attention_units.h"
#include "dropout_mask.h"
#include "kernels.h"

#include <dragoman/ops/attention.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/philox-inl.h"
#include "products/small_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Scratch memory of one unit. `scores` and `kept` are [kQueryBlock, padded keys].
struct BackwardScratch {
  float* values_transposed;  ///< [head_size, padded keys]
  float* scores;             ///< gradient of the kept weights, then of the scores
  float* kept;               ///< the weights after dropout
  float* dbias;              ///< [2 * reach + 1]: the unit's part of the biases' gradient; nullptr: not needed
  float* factors;            ///< dropout factors of the weights, [count, keys] without gaps
};

/// Computes kept = the weights after dropout. Propagates the gradient through the dropout in place.
HWY_INLINE void drop_row(const float* factors, std::size_t count, const float* weights, float* kept, float* gradient) {
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats factor = load(factors + i);
    vector.store(hn::Mul(vector.load(weights + i), factor), kept + i);
    vector.store(hn::Mul(load(gradient + i), factor), gradient + i);
  });
}

HWY_INLINE void copy_row(const float* from, std::size_t count, float* to) {
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR { vector.store(vector.load(from + i), to + i); });
}

HWY_INLINE void add_row(const float* from, std::size_t count, float* to) {
  for_each_vector(count, [&](std::size_t i, auto vector)
                             HWY_ATTR { vector.store(hn::Add(vector.load(to + i), vector.load(from + i)), to + i); });
}

/// Propagates through the softmax of one row and the factor of its scores: gradient = factor * w * (gradient -
/// sum(gradient * w)).
HWY_INLINE void softmax_gradient(const float* weights, std::size_t count, float factor, float* gradient) {
  const Floats sum = set(sum_of(count, [&](std::size_t i, auto vector)
                                           HWY_ATTR { return hn::Mul(vector.load(weights + i), load(gradient + i)); }));
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats centred = hn::Sub(load(gradient + i), sum);
    vector.store(hn::Mul(hn::Mul(set(factor), vector.load(weights + i)), centred), gradient + i);
  });
}

/// Adds the gradients of a row of scores to the gradients of the biases, one key after the other. The row's gradients
/// include `factor`, which does not apply to biases.
HWY_INLINE void add_bias_gradient(const float* gradient, float factor, std::int64_t reach, std::int64_t place,
                                  std::int64_t keys, float* dbias) {
  const BiasOfRow of(place, reach, keys);
  const float inverse = 1 / factor;
  for (std::int64_t j = 0; j < of.near; ++j) dbias[0] += inverse * gradient[j];
  for (std::int64_t j = of.near; j < of.far; ++j) dbias[of.first + j - of.near] += inverse * gradient[j];
  for (std::int64_t j = of.far; j < keys; ++j) dbias[2 * reach] += inverse * gradient[j];
}

/// Fills scratch.scores with the gradients of the scores of `count` queries, starting at `first`, and fills
/// scratch.kept.
HWY_INLINE void score_gradients(const ops::AttentionBackwardArguments& arguments, const DropoutMask& mask,
                                const AttentionUnit& unit, std::int64_t first, std::int64_t count,
                                const BackwardScratch& scratch) {
  const ops::AttentionArguments& forward = arguments.forward;
  const std::int64_t stride = padded_keys(unit.keys);
  const auto keys = static_cast<std::size_t>(unit.keys);
  small_gemm({.m = count,
              .n = stride,
              .k = unit.head_size,
              .a = arguments.dy.row<float>(unit.first_query + first) + unit.col,
              .a_row = arguments.dy.stride,
              .a_col = 1,
              .b = scratch.values_transposed,
              .b_stride = stride,
              .c = scratch.scores,
              .c_stride = stride});
  const auto factor = ops::score_scale<float>(forward.scale, unit.head_size);
  const std::int64_t index = unit.weight_index(first);
  if (mask.active())
    many_mask_factors(mask, static_cast<std::uint64_t>(index), static_cast<std::size_t>(count) * keys, scratch.factors);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* weights = forward.probabilities.as<float>() + index + i * unit.keys;
    float* kept = scratch.kept + i * stride;
    float* gradient = scratch.scores + i * stride;
    if (mask.active())
      drop_row(scratch.factors + i * unit.keys, keys, weights, kept, gradient);
    else
      copy_row(weights, keys, kept);
    if (!arguments.dweights.empty()) add_row(arguments.dweights.as<float>() + index + i * unit.keys, keys, gradient);
    softmax_gradient(weights, keys, factor, gradient);
    if (scratch.dbias != nullptr)
      add_bias_gradient(gradient, factor, ops::bias_reach(forward.bias), first + i + unit.keys - unit.queries,
                        unit.visible(forward.causal, first + i), scratch.dbias);
  }
}

/// target rows (+)= transposed(weights) * upstream rows, for keys or values.
HWY_INLINE void add_to_keys(const AttentionUnit& unit, std::int64_t count, const float* weights, const float* upstream,
                            std::int64_t upstream_stride, const autograd::GradientTarget& target, bool accumulate) {
  if (target.value.empty()) return;
  small_gemm({.m = unit.keys,
              .n = unit.head_size,
              .k = count,
              .a = weights,
              .a_row = 1,
              .a_col = padded_keys(unit.keys),
              .b = upstream,
              .b_stride = upstream_stride,
              .c = target.value.row<float>(unit.first_key) + unit.col,
              .c_stride = target.value.stride,
              .accumulate = accumulate});
}

HWY_INLINE void add_to_queries(const ops::AttentionBackwardArguments& arguments, const AttentionUnit& unit,
                               std::int64_t first, std::int64_t count, const float* scores) {
  if (arguments.dq.value.empty()) return;
  small_gemm({.m = count,
              .n = unit.head_size,
              .k = unit.keys,
              .a = scores,
              .a_row = padded_keys(unit.keys),
              .a_col = 1,
              .b = arguments.forward.k.row<float>(unit.first_key) + unit.col,
              .b_stride = arguments.forward.k.stride,
              .c = arguments.dq.value.row<float>(unit.first_query + first) + unit.col,
              .c_stride = arguments.dq.value.stride,
              .accumulate = arguments.dq.accumulate});
}

HWY_INLINE void attention_backward_unit(const ops::AttentionBackwardArguments& arguments, const DropoutMask& mask,
                                        const AttentionUnit& unit, const BackwardScratch& scratch) {
  const ops::AttentionArguments& forward = arguments.forward;
  const std::int64_t stride = padded_keys(unit.keys);
  transpose(forward.v.row<float>(unit.first_key) + unit.col, forward.v.stride, unit.keys, unit.head_size,
            scratch.values_transposed, stride);
  if (scratch.dbias != nullptr) std::fill_n(scratch.dbias, forward.bias.rows, 0.0F);
  // At least one round even without queries, because it writes the zeros of a first gradient.
  std::int64_t first = 0;
  do {
    const std::int64_t count = std::min(kQueryBlock, unit.queries - first);
    score_gradients(arguments, mask, unit, first, count, scratch);
    add_to_queries(arguments, unit, first, count, scratch.scores);
    const float* q = forward.q.row<float>(unit.first_query + first) + unit.col;
    const float* dy = arguments.dy.row<float>(unit.first_query + first) + unit.col;
    add_to_keys(unit, count, scratch.scores, q, forward.q.stride, arguments.dk, arguments.dk.accumulate || first > 0);
    add_to_keys(unit, count, scratch.kept, dy, arguments.dy.stride, arguments.dv, arguments.dv.accumulate || first > 0);
    first += kQueryBlock;
  } while (first < unit.queries);
}

void attention_backward_range(const ops::AttentionBackwardArguments& arguments, const DropoutMask& mask, float* dbias,
                              const std::int64_t* first_weights, std::int64_t begin, std::int64_t end, float* scratch) {
  for (std::int64_t u = begin; u < end; ++u) {
    const AttentionUnit unit(arguments.forward, first_weights, u);
    const std::int64_t stride = padded_keys(unit.keys);
    float* scores = scratch + unit.head_size * stride;
    attention_backward_unit(
        arguments, mask, unit,
        {scratch, scores, scores + kQueryBlock * stride,
         dbias == nullptr ? nullptr : dbias + u * arguments.forward.bias.rows, scores + 2 * kQueryBlock * stride});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(attention_backward_range);

namespace {

/// Adds up the contributions of every sequence to the biases, in the order of the sequences. A sequence has one
/// unit for each head.
void reduce_bias_gradients(const ops::AttentionBackwardArguments& arguments, const float* parts) {
  const autograd::GradientTarget& dbias = arguments.dbias;
  const std::int64_t heads = arguments.forward.heads;
  const std::int64_t units = attention_units(arguments.forward);
  for (std::int64_t i = 0; i < dbias.value.rows; ++i)
    for (std::int64_t h = 0; h < heads; ++h) {
      float sum = 0;
      for (std::int64_t u = h; u < units; u += heads) sum += parts[u * dbias.value.rows + i];
      float& out = dbias.value.row<float>(i)[h];
      out = dbias.accumulate ? out + sum : sum;
    }
}

}  // namespace

template <>
void kernel(Context& context, const ops::AttentionBackwardArguments& arguments) {
  const tensor::ScratchScope scratch_scope(context.arena());
  const std::int64_t units = attention_units(arguments.forward);
  float* dbias = nullptr;
  if (!arguments.dbias.value.empty())
    dbias = static_cast<float*>(
        context.arena().allocate(static_cast<std::size_t>(units * arguments.forward.bias.rows) * sizeof(float)));
  const DropoutMask mask(arguments.forward.rate, arguments.forward.random);
  for_each_unit(
      context, arguments.forward,
      [](const AttentionUnit& unit) { return (unit.head_size + 3 * kQueryBlock) * padded_keys(unit.keys) + 16; },
      [&](const std::int64_t* first_weights, std::int64_t begin, std::int64_t end, float* scratch) {
        HWY_DYNAMIC_DISPATCH(attention_backward_range)(arguments, mask, dbias, first_weights, begin, end, scratch);
      });
  if (dbias != nullptr) reduce_bias_gradients(arguments, dbias);
}

}  // namespace dragoman::backend::cpu
#endif
