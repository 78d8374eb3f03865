#include "bias_activation.h"
#include "products/blocks.h"
#include "kernels.h"

#include <dragoman/ops/elementwise.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layers/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/activation-inl.h"
#include "simd/dequantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

void activation_tile(const ops::ActivationArguments& arguments, const Tile& tile) {
  visit_activation(arguments.activation, [&](auto function) HWY_ATTR {
    for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) {
      const float* x = arguments.x.row<float>(r) + tile.col_begin;
      float* y = arguments.y.row<float>(r) + tile.col_begin;
      for_each_vector(tile.width(), [=](std::size_t i, auto vector)
                                        HWY_ATTR { vector.store(function.value(vector.load(x + i)), y + i); });
    }
  });
}

void activation_backward_tile(const ops::ActivationBackwardArguments& arguments, const Tile& tile) {
  visit_activation(arguments.activation, [&](auto function) HWY_ATTR {
    for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) {
      const float* dy = arguments.dy.row<float>(r) + tile.col_begin;
      // Each function reads one of x and y. The other may be missing, and the value passed for it is ignored.
      const float* x = arguments.x.empty() ? dy : arguments.x.row<float>(r) + tile.col_begin;
      const float* y = arguments.y.empty() ? x : arguments.y.row<float>(r) + tile.col_begin;
      float* dx = arguments.dx.row<float>(r) + tile.col_begin;
      const bool accumulate = arguments.accumulate;
      for_each_vector(tile.width(), [=](std::size_t i, auto vector) HWY_ATTR {
        const Floats slope = function.slope(vector.load(x + i), vector.load(y + i));
        const Floats gradient = hn::Mul(vector.load(dy + i), slope);
        vector.store(accumulate ? hn::Add(vector.load(dx + i), gradient) : gradient, dx + i);
      });
    }
  });
}

void bias_activation_rows_simd(const BiasActivation& arguments) {
  visit_activation(arguments.activation, [&](auto function) HWY_ATTR {
    for (std::int64_t r = 0; r < arguments.rows; ++r) {
      const float* x = arguments.x + r * arguments.x_stride;
      float* y = arguments.y + r * arguments.y_stride;
      float* sum = arguments.pre_activation == nullptr ? nullptr : arguments.pre_activation + r * arguments.pre_stride;
      const float* bias = arguments.bias;
      visit_product(arguments.dequantization.from_row(r), [=](auto product) HWY_ATTR {
        for_each_vector(static_cast<std::size_t>(arguments.cols), [=](std::size_t i, auto vector) HWY_ATTR {
          Floats value = product.load(x, i, vector);
          if (bias != nullptr) value = hn::Add(value, vector.load(bias + i));
          if (sum != nullptr) vector.store(value, sum + i);
          vector.store(function.value(value), y + i);
        });
      });
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(activation_tile);
HWY_EXPORT(activation_backward_tile);
HWY_EXPORT(bias_activation_rows_simd);

template <>
void kernel(Context& context, const ops::ActivationArguments& arguments) {
  for_each_tile(context.executor(), arguments.y.rows, arguments.y.cols, [&](const Tile& tile) {
    HWY_DYNAMIC_DISPATCH(activation_tile)(arguments, tile);
  });
}

template <>
void kernel(Context& context, const ops::ActivationBackwardArguments& arguments) {
  for_each_tile(context.executor(), arguments.dx.rows, arguments.dx.cols, [&](const Tile& tile) {
    HWY_DYNAMIC_DISPATCH(activation_backward_tile)(arguments, tile);
  });
}

void bias_activation_rows(const BiasActivation& arguments) {
  const bool nothing_to_add = arguments.bias == nullptr && arguments.activation == ops::Activation::kNone;
  if (nothing_to_add && !arguments.dequantization && arguments.pre_activation == nullptr && arguments.x == arguments.y)
    return;
  HWY_DYNAMIC_DISPATCH(bias_activation_rows_simd)(arguments);
}

void bias_activation_quantize_rows(const BiasActivation& arguments, tensor::ComputeType type, std::uint8_t* numbers,
                                   float* scales) {
  BiasActivation row = arguments;
  row.rows = 1;
  for (std::int64_t r = 0; r < arguments.rows; ++r) {
    row.x = arguments.x + r * arguments.x_stride;
    row.y = arguments.y + r * arguments.y_stride;
    row.dequantization = arguments.dequantization.from_row(r);
    bias_activation_rows(row);
    quantize({row.y, arguments.cols, 1, arguments.cols}, type, numbers + r * arguments.cols, scales + r);
  }
}

}  // namespace dragoman::backend::cpu
#endif
