#include <algorithm>
#include <cmath>

#include "kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cached_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "softmax-inl.h"

#ifndef DRAGOMAN_BACKEND_CPU_CACHED_ROW_SCRATCH_
#define DRAGOMAN_BACKEND_CPU_CACHED_ROW_SCRATCH_
namespace dragoman::backend::cpu {

/// Scratch memory for one row: where its keys and values lie, and its scores [heads, count].
struct CachedRowScratch {
  const float** keys;
  const float** values;
  float* scores;
};

}  // namespace dragoman::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

void find_rows(const ops::CachedAttentionArguments& arguments, const ops::KeyRows& rows,
               const CachedRowScratch& scratch) {
  const std::int32_t in_page = (std::int32_t{1} << arguments.page_shift) - 1;
  for (std::int32_t j = 0; j < rows.count; ++j) {
    const std::int32_t n = rows.indices == nullptr ? rows.first + j : rows.indices[j];
    const std::int64_t offset = (n & in_page) * arguments.stride;
    scratch.keys[j] = static_cast<const float*>(rows.key_pages[n >> arguments.page_shift]) + offset;
    scratch.values[j] = static_cast<const float*>(rows.value_pages[n >> arguments.page_shift]) + offset;
  }
}

/// scores [count] = the scaled products of one head's query with all keys.
HWY_INLINE void score_keys(const float* q, const float* const* keys, std::int64_t col, std::size_t head_size,
                           std::int32_t count, float* scores) {
  const float factor = 1 / std::sqrt(static_cast<float>(head_size));
  for (std::int32_t j = 0; j < count; ++j) {
    const float* key = keys[j] + col;
    scores[j] = factor * sum_of(head_size, [&](std::size_t i, auto vector)
                                               HWY_ATTR { return hn::Mul(vector.load(q + i), vector.load(key + i)); });
  }
}

/// kVectors vectors of y = the sum of weights * values.
template <int kVectors, class Vector>
HWY_INLINE void mix_values(const float* weights, const float* const* values, std::int64_t col, std::int32_t count,
                           float* y, const Vector& vector) {
  const std::size_t lanes = float_lanes();
  Floats sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = zero();
  for (std::int32_t j = 0; j < count; ++j) {
    const Floats weight = set(weights[j]);
    const float* value = values[j] + col;
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::MulAdd(weight, vector.load(value + static_cast<std::size_t>(v) * lanes), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) vector.store(sums[v], y + static_cast<std::size_t>(v) * lanes);
}

HWY_INLINE void mix_head(const float* weights, const float* const* values, std::int64_t col, std::size_t head_size,
                         std::int32_t count, float* y) {
  const std::size_t lanes = float_lanes();
  std::size_t i = 0;
  for (; i + 4 * lanes <= head_size; i += 4 * lanes)
    mix_values<4>(weights, values, col + static_cast<std::int64_t>(i), count, y + i, WholeVector());
  for (; i + lanes <= head_size; i += lanes)
    mix_values<1>(weights, values, col + static_cast<std::int64_t>(i), count, y + i, WholeVector());
  if (i < head_size)
    mix_values<1>(weights, values, col + static_cast<std::int64_t>(i), count, y + i, PartVector{head_size - i});
}

void cached_attention_row(const ops::CachedAttentionArguments& arguments, std::int64_t r,
                          const CachedRowScratch& scratch) {
  const ops::KeyRows& rows = arguments.rows[static_cast<std::size_t>(r)];
  const std::int64_t head_size = arguments.q.cols / arguments.heads;
  const auto size = static_cast<std::size_t>(head_size);
  find_rows(arguments, rows, scratch);
  for (std::int64_t h = 0; h < arguments.heads; ++h) {
    const std::int64_t col = h * head_size;
    float* scores = scratch.scores + h * rows.count;
    score_keys(arguments.q.row<float>(r) + col, scratch.keys, col, size, rows.count, scores);
    softmax_row(scores, static_cast<std::size_t>(rows.count), scores);
    mix_head(scores, scratch.values, col, size, rows.count, arguments.y.row<float>(r) + col);
  }
  if (!arguments.probabilities.empty())
    std::copy_n(scratch.scores, arguments.heads * rows.count, arguments.probabilities.row<float>(r));
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(cached_attention_row);

namespace {

constexpr std::int64_t kRowsPerBlock = 8;

std::int32_t most_keys(std::span<const ops::KeyRows> rows) {
  std::int32_t most = 0;
  for (const ops::KeyRows& row : rows) most = std::max(most, row.count);
  return most;
}

}  // namespace

void cached_attention(Context& context, const ops::CachedAttentionArguments& arguments) {
  const std::int64_t rows = arguments.q.rows;
  const auto most = static_cast<std::size_t>(most_keys(arguments.rows));
  const auto blocks = static_cast<std::size_t>((rows + kRowsPerBlock - 1) / kRowsPerBlock);
  const std::size_t scores_size = most * static_cast<std::size_t>(arguments.heads);
  const tensor::ScratchScope scratch_scope(context.arena());
  auto* pointers = static_cast<const float**>(context.arena().allocate(blocks * 2 * most * sizeof(const float*)));
  auto* scores = static_cast<float*>(context.arena().allocate(blocks * scores_size * sizeof(float)));
  core::for_each_range(context.executor(), rows, kRowsPerBlock, [&](std::int64_t begin, std::int64_t end) {
    const auto block = static_cast<std::size_t>(begin / kRowsPerBlock);
    const float** block_pointers = pointers + block * 2 * most;
    const CachedRowScratch scratch{block_pointers, block_pointers + most, scores + block * scores_size};
    for (std::int64_t r = begin; r < end; ++r) HWY_DYNAMIC_DISPATCH(cached_attention_row)(arguments, r, scratch);
  });
}

}  // namespace dragoman::backend::cpu
#endif
