#include "kernels.h"
#include "matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dragoman::backend::reference {

double log_sum_exp(std::span<const double> values) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  double maximum = kNothing;
  for (const double value : values) maximum = std::max(maximum, value);
  if (maximum == kNothing) return kNothing;
  double sum = 0;
  for (const double value : values) sum += std::exp(value - maximum);
  return maximum + std::log(sum);
}

void softmax(Context&, const ops::SoftmaxArguments& arguments) {
  const Matrix x(arguments.x, "softmax");
  const Matrix y(arguments.y, "softmax");
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const std::int64_t visible =
        arguments.causal_offset < 0 ? x.cols() : std::min(x.cols(), i + arguments.causal_offset + 1);
    if (visible == 0) continue;
    const double total = log_sum_exp({&x(i, 0), static_cast<std::size_t>(visible)});
    for (std::int64_t j = 0; j < x.cols(); ++j) {
      const double log_probability = x(i, j) - total;
      if (arguments.logarithm)
        y(i, j) = log_probability;
      else
        y(i, j) = j < visible ? std::exp(log_probability) : 0;
    }
  }
}

void softmax_backward(Context&, const ops::SoftmaxBackwardArguments& arguments) {
  const Matrix y(arguments.y, "softmax_backward");
  const Matrix dy(arguments.dy, "softmax_backward");
  const Matrix dx(arguments.dx.value, "softmax_backward");
  for (std::int64_t i = 0; i < y.rows(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < y.cols(); ++j) sum += arguments.logarithm ? dy(i, j) : dy(i, j) * y(i, j);
    for (std::int64_t j = 0; j < y.cols(); ++j) {
      const double gradient = arguments.logarithm ? dy(i, j) - std::exp(y(i, j)) * sum : y(i, j) * (dy(i, j) - sum);
      dx.put(i, j, gradient, arguments.dx.accumulate);
    }
  }
}

}  // namespace dragoman::backend::reference
