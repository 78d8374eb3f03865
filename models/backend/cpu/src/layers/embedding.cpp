#include <algorithm>

#include "products/blocks.h"
#include "training/dropout_mask.h"
#include "kernels.h"
#include "simd/rounding.h"

#include <dragoman/ops/embedding.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/embedding.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// `buffer` receives a row of a table that does not contain floats.
HWY_INLINE void look_up_row(const ops::EmbeddingArguments& arguments, std::int64_t t, float* buffer) {
  const float* token = float_row(arguments.table.values, arguments.table.scales, arguments.ids[t], buffer);
  const float* position = arguments.position_table.empty()
                              ? nullptr
                              : arguments.position_table.row<float>(arguments.positions[t] + arguments.first_position);
  float* y = arguments.y.row<float>(t);
  const Floats scale = set(static_cast<float>(arguments.scale));
  for_each_vector(static_cast<std::size_t>(arguments.y.cols), [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats value = vector.load(token + i);
    vector.store(position == nullptr ? hn::Mul(value, scale) : hn::MulAdd(value, scale, vector.load(position + i)),
                 y + i);
  });
}

void embedding_rows(const ops::EmbeddingArguments& arguments, const DropoutMask& mask, std::int64_t begin,
                    std::int64_t end, float* buffer) {
  const auto cols = static_cast<std::size_t>(arguments.y.cols);
  for (std::int64_t t = begin; t < end; ++t) {
    look_up_row(arguments, t, buffer);
    if (!mask.active()) continue;
    float* y = arguments.y.row<float>(t);
    for_each_masked_chunk(mask, static_cast<std::uint64_t>(t) * cols, cols,
                          [&](std::size_t first, std::size_t count, const float* factors) HWY_ATTR {
                            for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
                              vector.store(hn::Mul(vector.load(y + first + i), vector.load(factors + i)),
                                           y + first + i);
                            });
                          });
  }
}

/// Adds columns [begin, end) of all rows to the table's columns, in ascending order of rows.
void embedding_backward_cols(const ops::EmbeddingBackwardArguments& arguments, const DropoutMask& mask,
                             std::int64_t begin, std::int64_t end) {
  const Tensor& table = arguments.dtable.value;
  const auto width = static_cast<std::size_t>(end - begin);
  if (!arguments.dtable.accumulate)
    for (std::int64_t v = 0; v < table.rows; ++v) std::fill_n(table.row<float>(v) + begin, width, 0.0F);
  const Floats scale = set(static_cast<float>(arguments.scale));
  for (std::int64_t t = 0; t < arguments.dy.rows; ++t) {
    const float* dy = arguments.dy.row<float>(t) + begin;
    float* sum = table.row<float>(arguments.ids[t] + arguments.first) + begin;
    if (!mask.active()) {
      for_each_vector(width, [&](std::size_t i, auto vector) HWY_ATTR {
        vector.store(hn::MulAdd(vector.load(dy + i), scale, vector.load(sum + i)), sum + i);
      });
      continue;
    }
    const auto first = static_cast<std::uint64_t>(t * arguments.dy.cols + begin);
    for_each_masked_chunk(mask, first, width, [&](std::size_t chunk, std::size_t count, const float* factors) HWY_ATTR {
      for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
        const Floats kept = hn::Mul(vector.load(dy + chunk + i), vector.load(factors + i));
        vector.store(hn::MulAdd(kept, scale, vector.load(sum + chunk + i)), sum + chunk + i);
      });
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(embedding_rows);
HWY_EXPORT(embedding_backward_cols);

namespace {

/// Columns per block of the backward pass. Splitting by columns keeps the order of summation without sorting the ids.
/// 64 floats are a few cache lines, and blocks of an aligned table never share one.
constexpr std::int64_t kSliceCols = 64;

}  // namespace

template <>
void kernel(Context& context, const ops::EmbeddingArguments& arguments) {
  const DropoutMask mask(arguments.rate, arguments.random);
  const tensor::ScratchScope scratch(context.arena());
  const std::int64_t cols = arguments.y.cols;
  const std::int64_t rows = rows_per_block(cols);
  float* buffers = nullptr;
  if (arguments.table.values.dtype != tensor::DType::kF32) {
    const std::int64_t blocks = (arguments.y.rows + rows - 1) / rows;
    buffers = static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(blocks * cols) * sizeof(float)));
  }
  core::for_each_range(context.executor(), arguments.y.rows, rows, [&](std::int64_t begin, std::int64_t end) {
    float* buffer = buffers == nullptr ? nullptr : buffers + begin / rows * cols;
    HWY_DYNAMIC_DISPATCH(embedding_rows)(arguments, mask, begin, end, buffer);
  });
}

template <>
void kernel(Context& context, const ops::EmbeddingBackwardArguments& arguments) {
  const DropoutMask mask(arguments.rate, arguments.random);
  core::for_each_range(context.executor(), arguments.dtable.value.cols, kSliceCols,
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(embedding_backward_cols)(arguments, mask, begin, end);
                       });
}

}  // namespace dragoman::backend::cpu
#endif
