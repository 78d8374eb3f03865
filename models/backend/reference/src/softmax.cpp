#include "kernels.h"
#include "matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <dragoman/ops/softmax.h>

namespace dragoman::backend::reference {

void log_softmax_in_place(std::span<double> values) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  double maximum = kNothing;
  for (const double value : values) maximum = std::max(maximum, value);
  if (maximum == kNothing) return;
  double sum = 0;
  for (const double value : values) sum += std::exp(value - maximum);
  // The maximum is subtracted first, because adding it to log(sum) could lose log(sum).
  for (double& value : values) value = (value - maximum) - std::log(sum);
}

template <>
void kernel(Context&, const ops::SoftmaxArguments& arguments) {
  const Matrix x(arguments.x, "softmax");
  const Matrix y(arguments.y, "softmax");
  std::vector<double> row;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const std::int64_t visible =
        arguments.causal_offset < 0 ? x.cols() : std::min(x.cols(), i + arguments.causal_offset + 1);
    row.clear();
    for (std::int64_t j = 0; j < visible; ++j) row.push_back(x(i, j));
    log_softmax_in_place(row);
    for (std::int64_t j = 0; j < x.cols(); ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (j >= visible)
        y(i, j) = 0;
      else
        y(i, j) = arguments.logarithm ? row[at] : std::exp(row[at]);
    }
  }
}

template <>
void kernel(Context&, const ops::SoftmaxBackwardArguments& arguments) {
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
