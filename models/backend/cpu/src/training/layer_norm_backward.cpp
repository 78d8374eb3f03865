#include "products/blocks.h"
#include "column_sum.h"
#include "dropout_mask.h"
#include "kernels.h"
#include "layers/layer_norm_rows.h"

#include <dragoman/ops/layer_norm.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/layer_norm_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// dgain and dbias of a block of rows, [cols] each.
struct GainBiasSums {
  float* gain;
  float* bias;
};

/// The two row means that the gradient subtracts (Ba, Kiros & Hinton 2016): of g = gain * dy, and of g times the
/// normalised input. Computing them also adds the row's share to dgain and dbias.
struct RowMeans {
  float gradient;
  float projection;
};

HWY_INLINE float mean_of(const LayerNormBackwardRows& rows, std::int64_t r) {
  return rows.mean.empty() ? 0.0F : *rows.mean.row<float>(r);
}

HWY_INLINE RowMeans reduce_row(const LayerNormBackwardRows& rows, std::int64_t r, const GainBiasSums& sums) {
  const float* x = rows.sum.row<float>(r);
  const float* dy = rows.dy.row<float>(r);
  const float* gain = rows.gain.as<float>();
  const Floats mean = set(mean_of(rows, r));
  const Floats scale = set(*rows.inverse_deviation.row<float>(r));
  Floats gradient = zero();
  Floats projection = zero();
  for_each_vector(static_cast<std::size_t>(rows.sum.cols), [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats normal = hn::Mul(hn::Sub(vector.load(x + i), mean), scale);
    const Floats upstream = vector.load(dy + i);
    vector.store(hn::MulAdd(upstream, normal, vector.load(sums.gain + i)), sums.gain + i);
    vector.store(hn::Add(upstream, vector.load(sums.bias + i)), sums.bias + i);
    const Floats g = hn::Mul(upstream, vector.load(gain + i));
    gradient = hn::Add(gradient, g);
    projection = hn::MulAdd(g, normal, projection);
  });
  const FloatTag d;
  const auto cols = static_cast<float>(rows.sum.cols);
  return {rows.mean.empty() ? 0.0F : hn::GetLane(hn::SumOfLanes(d, gradient)) / cols,
          hn::GetLane(hn::SumOfLanes(d, projection)) / cols};
}

template <class Vector>
HWY_INLINE void write(const Vector& vector, bool accumulate, Floats value, float* to) {
  vector.store(accumulate ? hn::Add(vector.load(to), value) : value, to);
}

/// Calls emit(first element, vector, gradient) along the row, with the total gradient that flows into `sum`.
template <class Emit>
HWY_INLINE void for_each_gradient(const LayerNormBackwardRows& rows, std::int64_t r, const RowMeans& means,
                                  std::size_t begin, std::size_t count, const Emit& emit) {
  const float* x = rows.sum.row<float>(r) + begin;
  const float* dy = rows.dy.row<float>(r) + begin;
  const float* gain = rows.gain.as<float>() + begin;
  const float* dsum = rows.dsum.empty() ? nullptr : rows.dsum.row<float>(r) + begin;
  const Floats mean = set(mean_of(rows, r));
  const Floats scale = set(*rows.inverse_deviation.row<float>(r));
  const Floats mean_gradient = set(means.gradient);
  const Floats mean_projection = set(means.projection);
  for_each_vector(count, [&](std::size_t i, auto vector) HWY_ATTR {
    const Floats normal = hn::Mul(hn::Sub(vector.load(x + i), mean), scale);
    const Floats g = hn::MulSub(vector.load(dy + i), vector.load(gain + i), mean_gradient);
    Floats gradient = hn::Mul(scale, hn::NegMulAdd(normal, mean_projection, g));
    if (dsum != nullptr) gradient = hn::Add(gradient, vector.load(dsum + i));
    emit(i, vector, gradient);
  });
}

HWY_INLINE void write_row(const LayerNormBackwardRows& rows, std::int64_t r, const RowMeans& means) {
  const auto cols = static_cast<std::size_t>(rows.sum.cols);
  float* dresidual = rows.dresidual.value.empty() ? nullptr : rows.dresidual.value.row<float>(r);
  float* dx = rows.dx.value.empty() ? nullptr : rows.dx.value.row<float>(r);
  const bool add_residual = rows.dresidual.accumulate;
  const bool add_x = rows.dx.accumulate;
  if (dx == nullptr || !rows.mask.active()) {
    for_each_gradient(rows, r, means, 0, cols, [&](std::size_t i, auto vector, Floats gradient) HWY_ATTR {
      if (dresidual != nullptr) write(vector, add_residual, gradient, dresidual + i);
      if (dx != nullptr) write(vector, add_x, gradient, dx + i);
    });
    return;
  }
  const auto first = static_cast<std::uint64_t>(r) * cols;
  for_each_masked_chunk(
      rows.mask, first, cols, [&](std::size_t begin, std::size_t count, const float* factors) HWY_ATTR {
        for_each_gradient(rows, r, means, begin, count, [&](std::size_t i, auto vector, Floats gradient) HWY_ATTR {
          if (dresidual != nullptr) write(vector, add_residual, gradient, dresidual + begin + i);
          write(vector, add_x, hn::Mul(gradient, vector.load(factors + i)), dx + begin + i);
        });
      });
}

void layer_norm_backward_rows(const LayerNormBackwardRows& rows, std::int64_t begin, std::int64_t end, float* sums) {
  const auto cols = static_cast<std::size_t>(rows.sum.cols);
  const GainBiasSums block{sums, sums + cols};
  for_each_vector(2 * cols, [&](std::size_t i, auto vector) HWY_ATTR { vector.store(zero(), sums + i); });
  for (std::int64_t r = begin; r < end; ++r) write_row(rows, r, reduce_row(rows, r, block));
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(layer_norm_backward_rows);

namespace {

void run(Context& context, const LayerNormBackwardRows& rows, const autograd::GradientTarget& dgain,
         const autograd::GradientTarget& dbias) {
  const std::int64_t cols = rows.sum.cols;
  const std::int64_t block = reduction_block_rows(rows.sum.rows);
  const std::int64_t blocks = (rows.sum.rows + block - 1) / block;
  const tensor::ScratchScope scratch(context.arena());
  auto* partials =
      static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(blocks * 2 * cols) * sizeof(float)));
  core::for_each_range(context.executor(), rows.sum.rows, block, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layer_norm_backward_rows)(rows, begin, end, partials + begin / block * 2 * cols);
  });
  reduce_partials(partials, blocks, 2 * cols, dgain);
  reduce_partials(partials + cols, blocks, 2 * cols, dbias);
}

}  // namespace

template <>
void kernel(Context& context, const ops::LayerNormBackwardArguments& arguments) {
  run(context,
      {.sum = arguments.x,
       .gain = arguments.gain,
       .mean = arguments.mean,
       .inverse_deviation = arguments.inverse_deviation,
       .dy = arguments.dy,
       .dsum = {},
       .dresidual = arguments.dx,
       .dx = {},
       .mask = DropoutMask(0, {})},
      arguments.dgain, arguments.dbias);
}

template <>
void kernel(Context& context, const ops::ResidualLayerNormBackwardArguments& arguments) {
  run(context,
      {.sum = arguments.sum,
       .gain = arguments.gain,
       .mean = arguments.mean,
       .inverse_deviation = arguments.inverse_deviation,
       .dy = arguments.dy,
       .dsum = arguments.dsum,
       .dresidual = arguments.dresidual,
       .dx = arguments.dx,
       .mask = DropoutMask(arguments.rate, arguments.random)},
      arguments.dgain, arguments.dbias);
}

}  // namespace dragoman::backend::cpu
#endif
