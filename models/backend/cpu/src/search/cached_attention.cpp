#include <algorithm>
#include <bit>
#include <new>
#include <type_traits>

#include "kernels.h"

#include <dragoman/ops/attention.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "search/cached_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "simd/softmax-inl.h"

#ifndef DRAGOMAN_BACKEND_CPU_CACHED_ATTENTION_SCRATCH_
#define DRAGOMAN_BACKEND_CPU_CACHED_ATTENTION_SCRATCH_
namespace dragoman::backend::cpu {

/// The largest number of query rows that process shared keys together. Each key is then read once for all of them.
inline constexpr int kMaxTogether = 4;
/// Keys whose products are computed together.
inline constexpr std::int32_t kKeysTogether = 4;

/// Scratch memory for one row: the positions of its keys and values, and its scores [heads, score_stride(count)].
/// `query` and `mixed` hold the query and the result in the lane order of the cached keys.
struct CachedRowScratch {
  const void** keys;
  const void** values;
  float* scores;
  float* query;
  float* mixed;
};

/// The stride of one head's scores for `count` keys; products are stored kKeysTogether at a time.
inline std::int32_t score_stride(std::int32_t count) {
  return (count + kKeysTogether - 1) / kKeysTogether * kKeysTogether;
}

}  // namespace dragoman::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Cached rows of floats.
struct FloatPool {
  using Element = float;
  static constexpr int kVectors = 1;  ///< float vectors per load

  template <class Vector>
  static HWY_INLINE void load(const Element* from, const Vector& vector, Floats (&values)[kVectors]) {
    values[0] = vector.load(from);
  }
};

/// Cached rows of bf16. A load returns the even and the odd elements in separate vectors, which needs no shuffling.
/// Queries are converted to this order before, and results from it afterwards.
struct Bf16Pool {
  using Element = std::uint16_t;
  static constexpr int kVectors = 2;

  static HWY_INLINE void load(const Element* from, const WholeVector&, Floats (&values)[kVectors]) {
    const FloatTag d;
    const hn::RebindToUnsigned<FloatTag> d_bits;
    const auto pairs = hn::LoadU(d_bits, reinterpret_cast<const std::uint32_t*>(from));
    values[0] = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
    values[1] = hn::BitCast(d, hn::And(pairs, hn::Set(d_bits, 0xFFFF0000)));
  }
};

/// Returns true if a head consists of whole loads of a pool.
template <class Pool>
HWY_INLINE bool has_whole_loads(std::size_t head_size) {
  return head_size % (static_cast<std::size_t>(Pool::kVectors) * float_lanes()) == 0;
}

/// The view that the kernels below have of scratch memory: `kRows` queries and their keys [begin, end), which are the
/// same for all of them. The result of a query does not depend on the queries that it is processed with.
struct KeyBlock {
  const CachedRowScratch* rows;
  std::int32_t strides[kMaxTogether];  ///< of the scores of one head
  std::int32_t begin;
  std::int32_t end;
};

template <class Element>
HWY_INLINE const Element* row_at(const void* const* rows, std::int32_t j) {
  return static_cast<const Element*>(rows[j]);
}

/// Adds the upper half of a vector to its lower half until four lanes are left.
template <class D, class V>
HWY_INLINE auto fold_to_four(D, V value) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return value;
  } else {
    const hn::Half<D> half;
    return fold_to_four(half, hn::Add(hn::LowerHalf(half, value), hn::UpperHalf(half, value)));
  }
}

/// Returns the sums over the lanes of four vectors, in one vector of four.
HWY_INLINE auto sums_of_four(const Floats (&v)[kKeysTogether]) {
  const FloatTag d;
  const hn::Repartition<std::uint64_t, FloatTag> d_pair;
  const auto first =
      hn::BitCast(d_pair, hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1])));
  const auto last =
      hn::BitCast(d_pair, hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3])));
  return fold_to_four(d, hn::Add(hn::BitCast(d, hn::InterleaveLower(d_pair, first, last)),
                                 hn::BitCast(d, hn::InterleaveUpper(d_pair, first, last))));
}

/// Scores one head of up to four keys, starting at `at`, for kRows queries. The vectors of the keys are loaded once for
/// all queries.
template <class Pool, int kRows>
HWY_INLINE void score_four_keys(const KeyBlock& block, std::int32_t at, std::size_t head, std::size_t head_size,
                                float factor) {
  using Element = typename Pool::Element;
  const hn::FixedTag<float, 4> d_four;
  const std::size_t lanes = float_lanes();
  const std::size_t col = head * head_size;
  const void* const* rows = block.rows[0].keys;
  const Element* keys[kKeysTogether];
  for (std::int32_t k = 0; k < kKeysTogether; ++k)
    keys[k] = row_at<Element>(rows, std::min(at + k, block.end - 1)) + col;
  Floats sums[kRows][kKeysTogether];
  for (int r = 0; r < kRows; ++r)
    for (int k = 0; k < kKeysTogether; ++k) sums[r][k] = zero();
  for (std::size_t i = 0; i < head_size; i += static_cast<std::size_t>(Pool::kVectors) * lanes) {
    Floats parts[kKeysTogether][Pool::kVectors];
    for (int k = 0; k < kKeysTogether; ++k) Pool::load(keys[k] + i, WholeVector(), parts[k]);
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < Pool::kVectors; ++v) {
        const Floats q = load(block.rows[r].query + col + i + static_cast<std::size_t>(v) * lanes);
        for (int k = 0; k < kKeysTogether; ++k) sums[r][k] = hn::MulAdd(q, parts[k][v], sums[r][k]);
      }
  }
  for (int r = 0; r < kRows; ++r) {
    const auto scores = hn::Mul(sums_of_four(sums[r]), hn::Set(d_four, factor));
    float* to = block.rows[r].scores + head * static_cast<std::size_t>(block.strides[r]) + at;
    if (at + kKeysTogether <= block.end)
      hn::StoreU(scores, d_four, to);
    else
      hn::BlendedStore(scores, hn::FirstN(d_four, static_cast<std::size_t>(block.end - at)), d_four, to);
  }
}

HWY_INLINE void fetch_row(const void* row, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < bytes; i += kLine) hwy::Prefetch(static_cast<const char*>(row) + i);
}

/// Scores four keys at a time, for all heads, because a key's row is contiguous. The rows are scattered, and without
/// prefetching most of the time would be spent waiting for them. Keys are prefetched shortly before their use, and
/// values throughout.
template <class Pool, int kRows>
HWY_INLINE void score_keys(const KeyBlock& block, std::size_t heads, std::size_t head_size, float factor) {
  const CachedRowScratch& row = block.rows[0];
  const std::size_t bytes = heads * head_size * sizeof(typename Pool::Element);
  for (std::int32_t at = block.begin; at < block.end; at += kKeysTogether) {
    const std::int32_t next = std::min(at + kKeysTogether, block.end);
    for (std::int32_t j = next; j < std::min(next + kKeysTogether, block.end); ++j) fetch_row(row.keys[j], bytes);
    for (std::int32_t j = at; j < next; ++j) fetch_row(row.values[j], bytes);
    for (std::size_t head = 0; head < heads; ++head) score_four_keys<Pool, kRows>(block, at, head, head_size, factor);
  }
}

/// Like score_keys(), for one query with heads of any size, of floats.
HWY_INLINE void score_odd_keys(const KeyBlock& block, std::size_t heads, std::size_t head_size, float factor) {
  const CachedRowScratch& row = block.rows[0];
  for (std::int32_t j = block.begin; j < block.end; ++j)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t col = h * head_size;
      const float* key = row_at<float>(row.keys, j) + col;
      const float sum = sum_of(head_size, [&](std::size_t i, auto vector) HWY_ATTR {
        return hn::Mul(vector.load(row.query + col + i), vector.load(key + i));
      });
      row.scores[h * static_cast<std::size_t>(block.strides[0]) + static_cast<std::size_t>(j)] = factor * sum;
    }
}

/// Computes kVectors vectors of the results of kRows queries, starting at column `col`: (+)= the sum of weights *
/// values, in the order of the keys. Each kPerHead consecutive vectors belong to one head.
template <class Pool, int kRows, int kVectors, int kPerHead, class Vector>
HWY_INLINE void mix_values(const KeyBlock& block, std::size_t col, std::size_t head_size, const Vector& vector) {
  static_assert(kVectors % Pool::kVectors == 0 && kVectors % kPerHead == 0);
  constexpr int kGroups = kVectors / kPerHead;
  const std::size_t lanes = float_lanes();
  Floats sums[kRows][kVectors];
  const float* weights[kRows][kGroups];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] =
          block.begin == 0 ? zero() : vector.load(block.rows[r].mixed + col + static_cast<std::size_t>(v) * lanes);
    for (int h = 0; h < kGroups; ++h) {
      const std::size_t head = (col + static_cast<std::size_t>(h * kPerHead) * lanes) / head_size;
      weights[r][h] = block.rows[r].scores + head * static_cast<std::size_t>(block.strides[r]);
    }
  }
  const void* const* values = block.rows[0].values;
  for (std::int32_t j = block.begin; j < block.end; ++j) {
    const auto* value = row_at<typename Pool::Element>(values, j) + col;
    for (int v = 0; v < kVectors; v += Pool::kVectors) {
      Floats parts[Pool::kVectors];
      Pool::load(value + static_cast<std::size_t>(v) * lanes, vector, parts);
      for (int r = 0; r < kRows; ++r) {
        const Floats weight = set(weights[r][v / kPerHead][j]);
        for (int p = 0; p < Pool::kVectors; ++p) sums[r][v + p] = hn::MulAdd(weight, parts[p], sums[r][v + p]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      vector.store(sums[r][v], block.rows[r].mixed + col + static_cast<std::size_t>(v) * lanes);
}

/// Mixes all columns, if heads are whole loads. It processes several vectors at a time, which hides the latency of
/// their sums.
template <class Pool, int kRows, int kPerHead>
HWY_INLINE void mix_whole_heads(const KeyBlock& block, std::size_t cols, std::size_t head_size) {
  constexpr int kTile = kRows > 2 ? 4 : 8;
  constexpr int kRest = Pool::kVectors > kPerHead ? Pool::kVectors : kPerHead;
  const std::size_t lanes = float_lanes();
  std::size_t col = 0;
  for (; col + kTile * lanes <= cols; col += kTile * lanes)
    mix_values<Pool, kRows, kTile, kPerHead>(block, col, head_size, WholeVector());
  for (; col < cols; col += kRest * lanes)
    mix_values<Pool, kRows, kRest, kPerHead>(block, col, head_size, WholeVector());
}

template <class Pool, int kRows>
HWY_INLINE void mix_whole(const KeyBlock& block, std::size_t heads, std::size_t head_size) {
  const std::size_t cols = heads * head_size;
  const std::size_t per_head = head_size / float_lanes();
  if (per_head % 4 == 0) return mix_whole_heads<Pool, kRows, 4>(block, cols, head_size);
  if (per_head % 2 == 0) return mix_whole_heads<Pool, kRows, 2>(block, cols, head_size);
  if constexpr (Pool::kVectors == 1) mix_whole_heads<Pool, kRows, 1>(block, cols, head_size);
}

/// Like mix_whole_heads(), for one query with heads of any size, of floats.
HWY_INLINE void mix_odd(const KeyBlock& block, std::size_t heads, std::size_t head_size) {
  const std::size_t lanes = float_lanes();
  for (std::size_t begin = 0; begin < heads * head_size; begin += head_size) {
    std::size_t col = begin;
    for (; col + lanes <= begin + head_size; col += lanes)
      mix_values<FloatPool, 1, 1, 1>(block, col, head_size, WholeVector());
    if (col < begin + head_size)
      mix_values<FloatPool, 1, 1, 1>(block, col, head_size, PartVector{begin + head_size - col});
  }
}

/// The number of rows that are processed together, and the number of leading keys that they share.
struct RowGroup {
  int rows = 1;
  std::int32_t shared = 0;
};

/// Hypotheses of a sentence are adjacent. They share the sentence's memory, and their history up to the point where
/// they diverged.
HWY_INLINE RowGroup group_of(const ops::CachedAttentionArguments& arguments, std::int64_t first, std::int64_t end) {
  const ops::KeyRange& range = arguments.ranges[first];
  RowGroup group{1, range.count};
  while (group.rows < kMaxTogether && first + group.rows < end) {
    const ops::KeyRange& next = arguments.ranges[first + group.rows];
    const std::int32_t most = std::min(group.shared, next.count);
    std::int32_t same = next.begin == range.begin ? most : 0;
    while (same < most && arguments.key_rows[range.begin + same] == arguments.key_rows[next.begin + same]) ++same;
    if (same == 0 || 2 * same < group.shared) break;
    group.shared = same;
    ++group.rows;
  }
  return group;
}

/// Calls body(std::integral_constant<int, rows>()).
template <class Body>
HWY_INLINE void for_row_count(int rows, const Body& body) {
  switch (rows) {
    case 4:
      return body(std::integral_constant<int, 4>());
    case 3:
      return body(std::integral_constant<int, 3>());
    case 2:
      return body(std::integral_constant<int, 2>());
    default:
      return body(std::integral_constant<int, 1>());
  }
}

/// Finds the positions of the keys and values of a row.
template <class Element>
void find_rows(const ops::CachedAttentionArguments& arguments, const ops::KeyRange& range,
               const CachedRowScratch& scratch) {
  for (std::int32_t j = 0; j < range.count; ++j) {
    const std::int64_t row = arguments.key_rows[range.begin + j];
    scratch.keys[j] = arguments.keys.row<Element>(row);
    scratch.values[j] = arguments.values.row<Element>(row);
  }
}

/// Converts from the order of elements to the order of bf16 loads, and back.
void split_pairs(const float* from, std::size_t count, float* to) {
  const FloatTag d;
  const std::size_t lanes = float_lanes();
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    Floats even, odd;
    hn::LoadInterleaved2(d, from + i, even, odd);
    store(even, to + i);
    store(odd, to + i + lanes);
  }
}
void join_pairs(const float* from, std::size_t count, float* to) {
  const FloatTag d;
  const std::size_t lanes = float_lanes();
  for (std::size_t i = 0; i < count; i += 2 * lanes)
    hn::StoreInterleaved2(load(from + i), load(from + i + lanes), d, to + i);
}

/// Converts the cached rows of one query to floats, in memory that follows its scratch. For heads that are not whole
/// bf16 loads.
void widen_rows(const ops::CachedAttentionArguments& arguments, std::int32_t count, const CachedRowScratch& scratch,
                float* widened) {
  const std::int64_t cols = arguments.q.cols;
  const auto widen = [&](const void*& row) {
    const auto* bits = static_cast<const std::uint16_t*>(row);
    for (std::int64_t i = 0; i < cols; ++i) widened[i] = std::bit_cast<float>(std::uint32_t{bits[i]} << 16);
    row = widened;
    widened += cols;
  };
  for (std::int32_t j = 0; j < count; ++j) {
    widen(scratch.keys[j]);
    widen(scratch.values[j]);
  }
}

/// Returns the row in a table of biases by distance for key j, if the query is at the last of `count` keys.
HWY_INLINE const float* bias_row(const tensor::Tensor& bias, std::int32_t j, std::int32_t count) {
  const std::int64_t reach = ops::bias_reach(bias);
  return bias.row<float>(reach - std::min<std::int64_t>(count - 1 - j, reach));
}

HWY_INLINE void softmax_heads(const CachedRowScratch& row, const ops::CachedAttentionArguments& arguments,
                              std::int32_t count) {
  const auto heads = static_cast<std::size_t>(arguments.heads);
  const auto stride = static_cast<std::size_t>(score_stride(count));
  if (!arguments.bias.empty())
    for (std::int32_t j = 0; j < count; ++j) {
      const float* bias = bias_row(arguments.bias, j, count);
      for (std::size_t h = 0; h < heads; ++h) row.scores[h * stride + static_cast<std::size_t>(j)] += bias[h];
    }
  for (std::size_t h = 0; h < heads; ++h) {
    float* scores = row.scores + h * stride;
    softmax_row(scores, static_cast<std::size_t>(count), scores);
  }
}

/// Returns a block with one row.
HWY_INLINE KeyBlock one_row(const CachedRowScratch& row, std::int32_t count, std::int32_t begin) {
  return {&row, {score_stride(count)}, begin, count};
}

/// Processes rows [first, first + group.rows), whose heads are whole loads. `scratch` has an entry for each row.
template <class Pool>
HWY_INLINE void attend_group(const ops::CachedAttentionArguments& arguments, std::int64_t first, RowGroup group,
                             const CachedRowScratch* scratch) {
  const auto heads = static_cast<std::size_t>(arguments.heads);
  const auto head_size = static_cast<std::size_t>(arguments.q.cols / arguments.heads);
  const auto factor = ops::score_scale<float>(arguments.scale, arguments.q.cols / arguments.heads);
  KeyBlock shared{scratch, {}, 0, group.shared};
  std::int32_t counts[kMaxTogether];
  for (int r = 0; r < group.rows; ++r) {
    counts[r] = arguments.ranges[first + r].count;
    shared.strides[r] = score_stride(counts[r]);
  }
  for_row_count(group.rows, [&](auto rows) HWY_ATTR { score_keys<Pool, rows()>(shared, heads, head_size, factor); });
  for (int r = 0; r < group.rows; ++r) {
    score_keys<Pool, 1>(one_row(scratch[r], counts[r], group.shared), heads, head_size, factor);
    softmax_heads(scratch[r], arguments, counts[r]);
  }
  for_row_count(group.rows, [&](auto rows) HWY_ATTR { mix_whole<Pool, rows()>(shared, heads, head_size); });
  for (int r = 0; r < group.rows; ++r)
    if (group.shared < counts[r]) mix_whole<Pool, 1>(one_row(scratch[r], counts[r], group.shared), heads, head_size);
}

/// Processes one row with heads of any size, of floats.
HWY_INLINE void attend_odd(const ops::CachedAttentionArguments& arguments, std::int32_t count,
                           const CachedRowScratch& scratch) {
  const auto heads = static_cast<std::size_t>(arguments.heads);
  const auto head_size = static_cast<std::size_t>(arguments.q.cols / arguments.heads);
  const auto factor = ops::score_scale<float>(arguments.scale, arguments.q.cols / arguments.heads);
  score_odd_keys(one_row(scratch, count, 0), heads, head_size, factor);
  softmax_heads(scratch, arguments, count);
  mix_odd(one_row(scratch, count, 0), heads, head_size);
}

bool bf16_loads_fit(std::size_t head_size) {
  return has_whole_loads<Bf16Pool>(head_size);
}

void cached_attention_rows(const ops::CachedAttentionArguments& arguments, std::int64_t begin, std::int64_t end,
                           CachedRowScratch* scratch, float* widened) {
  const auto cols = static_cast<std::size_t>(arguments.q.cols);
  const std::size_t head_size = cols / static_cast<std::size_t>(arguments.heads);
  const bool is_bf16 = arguments.keys.dtype == tensor::DType::kBF16;
  const bool whole = is_bf16 ? has_whole_loads<Bf16Pool>(head_size) : has_whole_loads<FloatPool>(head_size);
  while (begin < end) {
    const RowGroup group = whole ? group_of(arguments, begin, end) : RowGroup{};
    for (int r = 0; r < group.rows; ++r) {
      const ops::KeyRange& range = arguments.ranges[begin + r];
      is_bf16 ? find_rows<std::uint16_t>(arguments, range, scratch[r]) : find_rows<float>(arguments, range, scratch[r]);
      if (is_bf16 && whole) {
        split_pairs(arguments.q.row<float>(begin + r), cols, scratch[r].query);
      } else {
        scratch[r].query = arguments.q.row<float>(begin + r);
        scratch[r].mixed = arguments.y.row<float>(begin + r);
      }
    }
    const std::int32_t count = arguments.ranges[begin].count;
    if (is_bf16 && !whole) widen_rows(arguments, count, scratch[0], widened);
    if (!whole)
      attend_odd(arguments, count, scratch[0]);
    else if (is_bf16)
      attend_group<Bf16Pool>(arguments, begin, group, scratch);
    else
      attend_group<FloatPool>(arguments, begin, group, scratch);
    for (int r = 0; r < group.rows; ++r) {
      if (is_bf16 && whole) join_pairs(scratch[r].mixed, cols, arguments.y.row<float>(begin + r));
      if (arguments.probabilities.empty()) continue;
      const std::int32_t keys = arguments.ranges[begin + r].count;
      for (std::int64_t h = 0; h < arguments.heads; ++h)
        std::copy_n(scratch[r].scores + h * score_stride(keys), keys,
                    arguments.probabilities.row<float>(begin + r) + h * keys);
    }
    begin += group.rows;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(bf16_loads_fit);
HWY_EXPORT(cached_attention_rows);

namespace {

/// Covers several sentences, so that block boundaries separate few groups.
constexpr std::int64_t kRowsPerBlock = 16;

/// The scratch memory of one block.
class BlockScratch {
 public:
  BlockScratch(Context& context, const ops::CachedAttentionArguments& arguments) {
    const auto keys = static_cast<std::size_t>(score_stride(arguments.longest));
    const auto cols = static_cast<std::size_t>(arguments.q.cols);
    const bool is_bf16 = arguments.keys.dtype == tensor::DType::kBF16;
    for (CachedRowScratch& row : rows_)
      row = {.keys = allocate<const void*>(context, keys),
             .values = allocate<const void*>(context, keys),
             .scores = allocate<float>(context, keys * static_cast<std::size_t>(arguments.heads)),
             .query = is_bf16 ? allocate<float>(context, cols) : nullptr,
             .mixed = is_bf16 ? allocate<float>(context, cols) : nullptr};
    if (is_bf16 && !HWY_DYNAMIC_DISPATCH(bf16_loads_fit)(cols / static_cast<std::size_t>(arguments.heads)))
      widened_ = allocate<float>(context, 2 * keys * cols);
  }
  CachedRowScratch* rows() noexcept { return rows_; }
  float* widened() const noexcept { return widened_; }

 private:
  template <class T>
  static T* allocate(Context& context, std::size_t count) {
    return static_cast<T*>(context.arena().allocate(count * sizeof(T)));
  }

  CachedRowScratch rows_[kMaxTogether];
  float* widened_ = nullptr;
};

}  // namespace

template <>
void kernel(Context& context, const ops::CachedAttentionArguments& arguments) {
  const std::int64_t rows = arguments.q.rows;
  const tensor::ScratchScope scratch_scope(context.arena());
  const std::int64_t blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;
  auto* scratch =
      static_cast<BlockScratch*>(context.arena().allocate(static_cast<std::size_t>(blocks) * sizeof(BlockScratch)));
  for (std::int64_t block = 0; block < blocks; ++block) new (scratch + block) BlockScratch(context, arguments);
  core::for_each_range(context.executor(), rows, kRowsPerBlock, [&](std::int64_t begin, std::int64_t end) {
    BlockScratch& block = scratch[begin / kRowsPerBlock];
    HWY_DYNAMIC_DISPATCH(cached_attention_rows)(arguments, begin, end, block.rows(), block.widened());
  });
}

}  // namespace dragoman::backend::cpu
#endif
