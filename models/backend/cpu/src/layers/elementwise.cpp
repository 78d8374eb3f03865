#include <algorithm>

#include "products/blocks.h"
#include "kernels.h"

#include <dragoman/ops/elementwise.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

void add_tile(const ops::AddArguments& arguments, const Tile& tile) {
  for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) {
    const float* a = arguments.a.row<float>(r) + tile.col_begin;
    const float* b = arguments.b.row<float>(r) + tile.col_begin;
    float* y = arguments.y.row<float>(r) + tile.col_begin;
    for_each_vector(tile.width(), [=](std::size_t i, auto vector) HWY_ATTR {
      vector.store(hn::Add(vector.load(a + i), vector.load(b + i)), y + i);
    });
  }
}

void add_row_tile(const ops::AddRowArguments& arguments, const Tile& tile) {
  const float* row = arguments.row.as<float>() + tile.col_begin;
  for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) {
    const float* x = arguments.x.row<float>(r) + tile.col_begin;
    float* y = arguments.y.row<float>(r) + tile.col_begin;
    for_each_vector(tile.width(), [=](std::size_t i, auto vector) HWY_ATTR {
      vector.store(hn::Add(vector.load(x + i), vector.load(row + i)), y + i);
    });
  }
}

void clear_tile(const ops::ScaleArguments& arguments, const Tile& tile) {
  for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r)
    std::fill_n(arguments.y.row<float>(r) + tile.col_begin, tile.width(), 0.0F);
}

void scale_tile(const ops::ScaleArguments& arguments, const Tile& tile) {
  // 0 * NaN is NaN, but x may be uninitialised memory that is being cleared.
  if (arguments.factor == 0 && !arguments.accumulate) return clear_tile(arguments, tile);
  const Floats factor = set(static_cast<float>(arguments.factor));
  for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) {
    const float* x = arguments.x.row<float>(r) + tile.col_begin;
    float* y = arguments.y.row<float>(r) + tile.col_begin;
    if (arguments.accumulate)
      for_each_vector(tile.width(), [=](std::size_t i, auto vector) HWY_ATTR {
        vector.store(hn::MulAdd(vector.load(x + i), factor, vector.load(y + i)), y + i);
      });
    else
      for_each_vector(tile.width(), [=](std::size_t i, auto vector)
                                        HWY_ATTR { vector.store(hn::Mul(vector.load(x + i), factor), y + i); });
  }
}

void multiply_tile(const ops::MultiplyArguments& arguments, const Tile& tile) {
  for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) {
    const float* a = arguments.a.row<float>(r) + tile.col_begin;
    const float* b = arguments.b.row<float>(r) + tile.col_begin;
    float* y = arguments.y.row<float>(r) + tile.col_begin;
    if (arguments.accumulate)
      for_each_vector(tile.width(), [=](std::size_t i, auto vector) HWY_ATTR {
        vector.store(hn::MulAdd(vector.load(a + i), vector.load(b + i), vector.load(y + i)), y + i);
      });
    else
      for_each_vector(tile.width(), [=](std::size_t i, auto vector) HWY_ATTR {
        vector.store(hn::Mul(vector.load(a + i), vector.load(b + i)), y + i);
      });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(add_tile);
HWY_EXPORT(add_row_tile);
HWY_EXPORT(scale_tile);
HWY_EXPORT(multiply_tile);

template <>
void kernel(Context& context, const ops::AddArguments& arguments) {
  for_each_tile(context.executor(), arguments.y.rows, arguments.y.cols, [&](const Tile& tile) {
    HWY_DYNAMIC_DISPATCH(add_tile)(arguments, tile);
  });
}

template <>
void kernel(Context& context, const ops::AddRowArguments& arguments) {
  for_each_tile(context.executor(), arguments.y.rows, arguments.y.cols, [&](const Tile& tile) {
    HWY_DYNAMIC_DISPATCH(add_row_tile)(arguments, tile);
  });
}

template <>
void kernel(Context& context, const ops::ScaleArguments& arguments) {
  for_each_tile(context.executor(), arguments.y.rows, arguments.y.cols, [&](const Tile& tile) {
    HWY_DYNAMIC_DISPATCH(scale_tile)(arguments, tile);
  });
}

template <>
void kernel(Context& context, const ops::MultiplyArguments& arguments) {
  for_each_tile(context.executor(), arguments.y.rows, arguments.y.cols, [&](const Tile& tile) {
    HWY_DYNAMIC_DISPATCH(multiply_tile)(arguments, tile);
  });
}

}  // namespace dragoman::backend::cpu
#endif
