#include "kernels.h"
#include "matrix.h"

#include <cmath>
#include <numbers>

#include <dragoman/core/error.h>
#include <dragoman/ops/elementwise.h>

namespace dragoman::backend::reference {
namespace {

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}
double normal_density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double relu_slope(double y) {
  return y > 0 ? 1 : 0;
}
double gelu_slope(double x) {
  return normal_cdf(x) + x * normal_density(x);
}
double swish_slope(double x) {
  return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
}
/// gelu_tanh(x) = x * sigmoid(2 u(x)) with u = sqrt(2 / pi) * (x + 0.044715 x^3).
constexpr double kCubic = 0.044715;
double gelu_tanh_argument(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + kCubic * x * x * x);
}
double gelu_tanh_slope(double x) {
  const double t = std::tanh(gelu_tanh_argument(x));
  const double du = std::sqrt(2 / std::numbers::pi) * (1 + 3 * kCubic * x * x);
  return (1 + t) / 2 + x / 2 * (1 - t * t) * du;
}
double sigmoid_slope(double y) {
  return y * (1 - y);
}
double tanh_slope(double y) {
  return 1 - y * y;
}

double slope(ops::Activation activation, const Matrix& x, const Matrix& y, std::int64_t i, std::int64_t j) {
  switch (activation) {
    case ops::Activation::kNone:
      return 1;
    case ops::Activation::kRelu:
      return relu_slope(y(i, j));
    case ops::Activation::kGelu:
      return gelu_slope(x(i, j));
    case ops::Activation::kSwish:
      return swish_slope(x(i, j));
    case ops::Activation::kSigmoid:
      return sigmoid_slope(y(i, j));
    case ops::Activation::kTanh:
      return tanh_slope(y(i, j));
    case ops::Activation::kGeluTanh:
      return gelu_tanh_slope(x(i, j));
  }
  core::fail(core::ErrorCode::kInternal, "unknown activation {}", static_cast<int>(activation));
}

}  // namespace

double activate(ops::Activation activation, double x) {
  switch (activation) {
    case ops::Activation::kNone:
      return x;
    case ops::Activation::kRelu:
      return x < 0 ? 0.0 : x;  // NaN stays NaN
    case ops::Activation::kGelu:
      return x * normal_cdf(x);
    case ops::Activation::kSwish:
      return x * sigmoid(x);
    case ops::Activation::kSigmoid:
      return sigmoid(x);
    case ops::Activation::kTanh:
      return std::tanh(x);
    case ops::Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(gelu_tanh_argument(x)));
  }
  core::fail(core::ErrorCode::kInternal, "unknown activation {}", static_cast<int>(activation));
}

template <>
void kernel(Context&, const ops::AddArguments& arguments) {
  const Matrix a(arguments.a, "add");
  const Matrix b(arguments.b, "add");
  const Matrix y(arguments.y, "add");
  for (std::int64_t i = 0; i < y.rows(); ++i)
    for (std::int64_t j = 0; j < y.cols(); ++j) y(i, j) = a(i, j) + b(i, j);
}

template <>
void kernel(Context&, const ops::ScaleArguments& arguments) {
  const Matrix x(arguments.x, "scale");
  const Matrix y(arguments.y, "scale");
  if (arguments.factor == 0 && !arguments.accumulate) return y.fill(0);
  for (std::int64_t i = 0; i < y.rows(); ++i)
    for (std::int64_t j = 0; j < y.cols(); ++j) y.put(i, j, arguments.factor * x(i, j), arguments.accumulate);
}

template <>
void kernel(Context&, const ops::MultiplyArguments& arguments) {
  const Matrix a(arguments.a, "multiply");
  const Matrix b(arguments.b, "multiply");
  const Matrix y(arguments.y, "multiply");
  for (std::int64_t i = 0; i < y.rows(); ++i)
    for (std::int64_t j = 0; j < y.cols(); ++j) y.put(i, j, a(i, j) * b(i, j), arguments.accumulate);
}

template <>
void kernel(Context&, const ops::AddRowArguments& arguments) {
  const Matrix x(arguments.x, "add_row");
  const Matrix row(arguments.row, "add_row");
  const Matrix y(arguments.y, "add_row");
  for (std::int64_t i = 0; i < y.rows(); ++i)
    for (std::int64_t j = 0; j < y.cols(); ++j) y(i, j) = x(i, j) + row(0, j);
}

template <>
void kernel(Context&, const ops::ColumnSumArguments& arguments) {
  const Matrix x(arguments.x, "column_sum");
  const Matrix y(arguments.y, "column_sum");
  for (std::int64_t j = 0; j < x.cols(); ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < x.rows(); ++i) sum += x(i, j);
    y.put(0, j, sum, arguments.accumulate);
  }
}

template <>
void kernel(Context&, const ops::ActivationArguments& arguments) {
  const Matrix x(arguments.x, "activation");
  const Matrix y(arguments.y, "activation");
  for (std::int64_t i = 0; i < y.rows(); ++i)
    for (std::int64_t j = 0; j < y.cols(); ++j) y(i, j) = activate(arguments.activation, x(i, j));
}

template <>
void kernel(Context&, const ops::ActivationBackwardArguments& arguments) {
  const Matrix x(arguments.x, "activation_backward");
  const Matrix y(arguments.y, "activation_backward");
  const Matrix dy(arguments.dy, "activation_backward");
  const Matrix dx(arguments.dx, "activation_backward");
  for (std::int64_t i = 0; i < dx.rows(); ++i)
    for (std::int64_t j = 0; j < dx.cols(); ++j)
      dx.put(i, j, dy(i, j) * slope(arguments.activation, x, y, i, j), arguments.accumulate);
}

}  // namespace dragoman::backend::reference
