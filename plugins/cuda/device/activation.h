#pragma once

#include "elements.h"

#include <cmath>

namespace dragoman::backend::cuda::device {

SIMT_DEVICE float normal_cdf(float x) {
  return 0.5F * erfcf(-x * 0.70710678118654752F);
}
SIMT_DEVICE float normal_density(float x) {
  return 0.39894228040143268F * expf(-0.5F * x * x);
}
SIMT_DEVICE float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}

/// Returns twice the argument of tanh in the approximation of gelu, which is x * sigmoid of this value.
SIMT_DEVICE float gelu_tanh_argument(float x) {
  return 1.5957691216057308F * x * (1 + 0.044715F * x * x);
}

SIMT_DEVICE float activated(ops::Activation activation, float x) {
  switch (activation) {
    case ops::Activation::kRelu:
      return x < 0 ? 0.0F : x;  // NaN stays NaN
    case ops::Activation::kGelu:
      return x * normal_cdf(x);
    case ops::Activation::kSwish:
      return x * sigmoid(x);
    case ops::Activation::kSigmoid:
      return sigmoid(x);
    case ops::Activation::kTanh:
      return tanhf(x);
    case ops::Activation::kGeluTanh:
      return x * sigmoid(gelu_tanh_argument(x));
    default:
      return x;
  }
}

/// Applies activated() to a run of elements. Simple functions are selected once for the whole run.
template <int kWidth>
SIMT_DEVICE void activate(ops::Activation activation, Run<kWidth>& x) {
  if (activation == ops::Activation::kNone) return;
  if (activation == ops::Activation::kRelu) {
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) x.values[i] = activated(ops::Activation::kRelu, x.values[i]);
    return;
  }
  SIMT_UNROLL
  for (int i = 0; i < kWidth; ++i) x.values[i] = activated(activation, x.values[i]);
}

/// Applies the epilogue to one element of a product and stores it.
SIMT_DEVICE void write_product(const Matrix& c, const Epilogue& epilogue, std::int64_t row, std::int64_t col,
                               float value) {
  if (epilogue.bias.data != nullptr) value += at(epilogue.bias, 0, col);
  if (epilogue.pre_activation.data != nullptr) at(epilogue.pre_activation, row, col) = value;
  put(c, row, col, activated(epilogue.activation, value), epilogue.accumulate);
}

/// Applies write_product() to a run of elements.
template <int kWidth>
SIMT_DEVICE void write_products(const Matrix& c, const Epilogue& epilogue, std::int64_t row, std::int64_t col,
                                Run<kWidth> values) {
  if (epilogue.bias.data != nullptr) {
    const Run<kWidth> bias = load_run<kWidth>(epilogue.bias, 0, col);
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) values.values[i] += bias.values[i];
  }
  if (epilogue.pre_activation.data != nullptr) store_run(epilogue.pre_activation, row, col, values);
  activate(epilogue.activation, values);
  put_run(c, row, col, values, epilogue.accumulate);
}

/// Returns the derivative. x and y need to be valid only where the contract of the op requires them.
SIMT_DEVICE float slope(ops::Activation activation, float x, float y) {
  switch (activation) {
    case ops::Activation::kRelu:
      return y > 0 ? 1 : 0;
    case ops::Activation::kGelu:
      return normal_cdf(x) + x * normal_density(x);
    case ops::Activation::kSwish:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case ops::Activation::kSigmoid:
      return y * (1 - y);
    case ops::Activation::kTanh:
      return 1 - y * y;
    case ops::Activation::kGeluTanh: {
      const float s = sigmoid(gelu_tanh_argument(x));
      return s * (1 + x * (1 - s) * 1.5957691216057308F * (1 + 3 * 0.044715F * x * x));
    }
    default:
      return 1;
  }
}
/// Multiplies a run of gradients by slope().
template <int kWidth>
SIMT_DEVICE void apply_slope(ops::Activation activation, const Run<kWidth>& x, const Run<kWidth>& y,
                             Run<kWidth>& gradients) {
  if (activation == ops::Activation::kRelu) {
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) gradients.values[i] *= slope(ops::Activation::kRelu, x.values[i], y.values[i]);
    return;
  }
  SIMT_UNROLL
  for (int i = 0; i < kWidth; ++i) gradients.values[i] *= slope(activation, x.values[i], y.values[i]);
}

}  // namespace dragoman::backend::cuda::device
