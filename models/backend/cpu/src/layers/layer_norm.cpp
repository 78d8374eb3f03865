#include <cmath>

#include "products/blocks.h"
#include "training/dropout_mask.h"
#include "kernels.h"
#include "layer_norm_rows.h"

#include <dragoman/ops/layer_norm.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

struct RowStatistics {
  float mean;
  float inverse_deviation;
};

/// Computes the variance around the mean in a second pass, because a single pass over squares cancels if the mean is
/// large.
HWY_INLINE RowStatistics statistics_of(const float* x, std::size_t cols, double epsilon, bool about_mean) {
  const auto count = static_cast<float>(cols);
  const float mean =
      about_mean ? sum_of(cols, [&](std::size_t i, auto vector) HWY_ATTR { return vector.load(x + i); }) / count : 0.0F;
  const float squares = sum_of(cols, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats centred = vector.keep(hn::Sub(vector.load(x + i), set(mean)));
    return hn::Mul(centred, centred);
  });
  return {mean, static_cast<float>(1.0 / std::sqrt(static_cast<double>(squares / count) + epsilon))};
}

/// sum = residual + dropout(x).
HWY_INLINE void add_residual_row(const LayerNormRows& rows, std::int64_t r) {
  const float* residual = rows.residual.row<float>(r);
  const float* x = rows.x.row<float>(r);
  float* sum = rows.sum.row<float>(r);
  const auto cols = static_cast<std::size_t>(rows.sum.cols);
  if (!rows.mask.active()) {
    for_each_vector(cols, [&](std::size_t i, auto vector) HWY_ATTR {
      vector.store(hn::Add(vector.load(residual + i), vector.load(x + i)), sum + i);
    });
    return;
  }
  const auto first = static_cast<std::uint64_t>(r) * cols;
  for_each_masked_chunk(rows.mask, first, cols,
                        [&](std::size_t begin, std::size_t count, const float* factors) HWY_ATTR {
                          for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
                            const Floats kept = hn::Mul(vector.load(x + begin + i), vector.load(factors + i));
                            vector.store(hn::Add(vector.load(residual + begin + i), kept), sum + begin + i);
                          });
                        });
}

HWY_INLINE void normalise_row(const LayerNormRows& rows, std::int64_t r) {
  const float* x = rows.sum.row<float>(r);
  const float* gain = rows.gain.as<float>();
  const float* bias = rows.centred ? rows.bias.as<float>() : nullptr;
  float* y = rows.y.row<float>(r);
  const auto cols = static_cast<std::size_t>(rows.sum.cols);
  const RowStatistics statistics = statistics_of(x, cols, rows.epsilon, rows.centred);
  const Floats mean = set(statistics.mean);
  const Floats scale = set(statistics.inverse_deviation);
  for_each_vector(cols, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats normal = hn::Mul(hn::Sub(vector.load(x + i), mean), scale);
    const Floats factor = vector.load(gain + i);
    vector.store(bias == nullptr ? hn::Mul(normal, factor) : hn::MulAdd(normal, factor, vector.load(bias + i)), y + i);
  });
  if (!rows.mean.empty()) *rows.mean.row<float>(r) = statistics.mean;
  if (!rows.inverse_deviation.empty()) *rows.inverse_deviation.row<float>(r) = statistics.inverse_deviation;
}

void layer_norm_rows(const LayerNormRows& rows, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    if (!rows.residual.empty()) add_residual_row(rows, r);
    normalise_row(rows, r);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(layer_norm_rows);

namespace {

void run(Context& context, const LayerNormRows& rows) {
  core::for_each_range(context.executor(), rows.sum.rows, rows_per_block(rows.sum.cols),
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(layer_norm_rows)(rows, begin, end);
                       });
}

}  // namespace

template <>
void kernel(Context& context, const ops::LayerNormArguments& arguments) {
  run(context, {.residual = {},
                .x = {},
                .mask = DropoutMask(0, {}),
                .sum = arguments.x,
                .gain = arguments.gain,
                .bias = arguments.bias,
                .epsilon = arguments.epsilon,
                .y = arguments.y,
                .mean = arguments.mean,
                .inverse_deviation = arguments.inverse_deviation,
                .centred = arguments.centred});
}

template <>
void kernel(Context& context, const ops::ResidualLayerNormArguments& arguments) {
  run(context, {.residual = arguments.residual,
                .x = arguments.x,
                .mask = DropoutMask(arguments.rate, arguments.random),
                .sum = arguments.sum,
                .gain = arguments.gain,
                .bias = arguments.bias,
                .epsilon = arguments.epsilon,
                .y = arguments.y,
                .mean = arguments.mean,
                .inverse_deviation = arguments.inverse_deviation,
                .centred = arguments.centred});
}

}  // namespace dragoman::backend::cpu
#endif
