#include "column_sum.h"

#include <algorithm>

#include "kernels.h"

#include <dragoman/ops/elementwise.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/column_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// sum [cols] = rows [begin, end) of x, added from first to last.
void sum_rows(const Tensor& x, std::int64_t begin, std::int64_t end, float* sum) {
  for_each_vector(static_cast<std::size_t>(x.cols), [&](std::size_t i, auto vector) HWY_ATTR {
    Floats total = zero();
    for (std::int64_t r = begin; r < end; ++r) total = hn::Add(total, vector.load(x.row<float>(r) + i));
    vector.store(total, sum + i);
  });
}

void sum_partials(const float* partials, std::int64_t count, std::int64_t stride,
                  const autograd::GradientTarget& target) {
  float* y = target.value.as<float>();
  for_each_vector(static_cast<std::size_t>(target.value.cols), [&](std::size_t i, auto vector) HWY_ATTR {
    Floats total = zero();
    for (std::int64_t p = 0; p < count; ++p) total = hn::Add(total, vector.load(partials + p * stride + i));
    vector.store(target.accumulate ? hn::Add(vector.load(y + i), total) : total, y + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(sum_rows);
HWY_EXPORT(sum_partials);

std::int64_t reduction_block_rows(std::int64_t rows) {
  return std::max<std::int64_t>(32, (rows + 31) / 32);
}

void reduce_partials(const float* partials, std::int64_t count, std::int64_t stride,
                     const autograd::GradientTarget& target) {
  if (!target.value.empty()) HWY_DYNAMIC_DISPATCH(sum_partials)(partials, count, stride, target);
}

template <>
void kernel(Context& context, const ops::ColumnSumArguments& arguments) {
  const Tensor& x = arguments.x;
  const std::int64_t block = reduction_block_rows(x.rows);
  const std::int64_t blocks = (x.rows + block - 1) / block;
  const tensor::ScratchScope scratch(context.arena());
  auto* partials =
      static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(blocks * x.cols) * sizeof(float)));
  core::for_each_range(context.executor(), x.rows, block, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(sum_rows)(x, begin, end, partials + begin / block * x.cols);
  });
  reduce_partials(partials, blocks, x.cols, {arguments.y, arguments.accumulate});
}

}  // namespace dragoman::backend::cpu
#endif
