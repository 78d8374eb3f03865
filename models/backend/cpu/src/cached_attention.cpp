#include <algorithm>

#include "kernels.h"

#include <dragoman/ops/attention.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cached_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
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

void find_rows(const ops::CachedAttentionArguments& arguments, const ops::KeyRange& range,
               const CachedRowScratch& scratch) {
  for (std::int32_t j = 0; j < range.count; ++j) {
    const std::int64_t row = arguments.key_rows[range.begin + j];
    scratch.keys[j] = arguments.keys.row<float>(row);
    scratch.values[j] = arguments.values.row<float>(row);
  }
}

HWY_INLINE void fetch_row(const float* row, std::size_t cols) {
  constexpr std::size_t kLineFloats = 16;
  for (std::size_t i = 0; i < cols; i += kLineFloats) hwy::Prefetch(row + i);
}

/// scores [heads, count] = the scaled products of all heads' queries with all keys. Key by key, since a key's row lies
/// in one piece. The rows are scattered, and without fetching them ahead most of the time would go into waiting for
/// them: keys a few rows before their turn, values all along.
HWY_INLINE void score_keys(const float* q, const CachedRowScratch& scratch, std::int64_t heads, std::size_t head_size,
                           float factor, std::int32_t count) {
  constexpr std::int32_t kAhead = 4;
  const std::size_t cols = static_cast<std::size_t>(heads) * head_size;
  for (std::int32_t j = 0; j < std::min(kAhead, count); ++j) fetch_row(scratch.keys[j], cols);
  for (std::int32_t j = 0; j < count; ++j) {
    if (j + kAhead < count) fetch_row(scratch.keys[j + kAhead], cols);
    fetch_row(scratch.values[j], cols);
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::size_t col = static_cast<std::size_t>(h) * head_size;
      const float* key = scratch.keys[j] + col;
      scratch.scores[h * count + j] = factor * sum_of(head_size, [&](std::size_t i, auto vector) HWY_ATTR {
                                        return hn::Mul(vector.load(q + col + i), vector.load(key + i));
                                      });
    }
  }
}

/// kVectors vectors of y from column `col` on = the sum of weights * values. Where vectors lie within one head, they
/// may belong to several.
template <int kVectors, class Vector>
HWY_INLINE void mix_values(const CachedRowScratch& scratch, std::size_t col, std::size_t head_size, std::int32_t count,
                           float* y, const Vector& vector) {
  const std::size_t lanes = float_lanes();
  Floats sums[kVectors];
  const float* weights[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = zero();
    weights[v] =
        scratch.scores + (col + static_cast<std::size_t>(v) * lanes) / head_size * static_cast<std::size_t>(count);
  }
  for (std::int32_t j = 0; j < count; ++j) {
    const float* value = scratch.values[j] + col;
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::MulAdd(set(weights[v][j]), vector.load(value + static_cast<std::size_t>(v) * lanes), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) vector.store(sums[v], y + col + static_cast<std::size_t>(v) * lanes);
}

/// Heads that are not whole vectors: one at a time.
HWY_INLINE void mix_head(const CachedRowScratch& scratch, std::size_t begin, std::size_t head_size, std::int32_t count,
                         float* y) {
  const std::size_t lanes = float_lanes();
  const std::size_t end = begin + head_size;
  std::size_t col = begin;
  for (; col + lanes <= end; col += lanes) mix_values<1>(scratch, col, head_size, count, y, WholeVector());
  if (col < end) mix_values<1>(scratch, col, head_size, count, y, PartVector{end - col});
}

HWY_INLINE void mix_heads(const CachedRowScratch& scratch, std::int64_t heads, std::size_t head_size,
                          std::int32_t count, float* y) {
  const std::size_t lanes = float_lanes();
  const std::size_t cols = static_cast<std::size_t>(heads) * head_size;
  if (head_size % lanes != 0) {
    for (std::size_t col = 0; col < cols; col += head_size) mix_head(scratch, col, head_size, count, y);
    return;
  }
  std::size_t col = 0;
  for (; col + 8 * lanes <= cols; col += 8 * lanes) mix_values<8>(scratch, col, head_size, count, y, WholeVector());
  for (; col < cols; col += lanes) mix_values<1>(scratch, col, head_size, count, y, WholeVector());
}

void cached_attention_row(const ops::CachedAttentionArguments& arguments, std::int64_t r,
                          const CachedRowScratch& scratch) {
  const ops::KeyRange& range = arguments.ranges[r];
  const auto head_size = static_cast<std::size_t>(arguments.q.cols / arguments.heads);
  find_rows(arguments, range, scratch);
  const auto factor = ops::score_scale<float>(arguments.scale, arguments.q.cols / arguments.heads);
  score_keys(arguments.q.row<float>(r), scratch, arguments.heads, head_size, factor, range.count);
  for (std::int64_t h = 0; h < arguments.heads; ++h) {
    float* scores = scratch.scores + h * range.count;
    softmax_row(scores, static_cast<std::size_t>(range.count), scores);
  }
  mix_heads(scratch, arguments.heads, head_size, range.count, arguments.y.row<float>(r));
  if (!arguments.probabilities.empty())
    std::copy_n(scratch.scores, arguments.heads * range.count, arguments.probabilities.row<float>(r));
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(cached_attention_row);

namespace {

constexpr std::int64_t kRowsPerBlock = 8;

}  // namespace

template <>
void kernel(Context& context, const ops::CachedAttentionArguments& arguments) {
  const std::int64_t rows = arguments.q.rows;
  const auto most = static_cast<std::size_t>(arguments.longest);
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
