#include "kernels.h"
#include "matrix.h"

#include <algorithm>
#include <cmath>

#include <dragoman/ops/update_rules.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::LionArguments& arguments) {
  const Matrix p(arguments.parameters, "lion");
  const Matrix gradients(arguments.gradients, "lion");
  const Matrix m(arguments.first_moment, "lion");
  const ops::UpdateStep& step = arguments.step[0];
  if (step.skip != 0) return;
  for (std::int64_t j = 0; j < p.cols(); ++j) {
    const double g = step.gradient_scale * gradients(0, j);
    const double mixed = arguments.beta1 * m(0, j) + (1 - arguments.beta1) * g;
    const double sign = mixed > 0 ? 1 : mixed < 0 ? -1 : 0;
    p(0, j) -= step.learning_rate * (sign + arguments.weight_decay * p(0, j));
    m(0, j) = arguments.beta2 * m(0, j) + (1 - arguments.beta2) * g;
  }
}

template <>
void kernel(Context&, const ops::SgdArguments& arguments) {
  const Matrix p(arguments.parameters, "sgd");
  const Matrix gradients(arguments.gradients, "sgd");
  const Matrix m(arguments.first_moment, "sgd");
  const ops::UpdateStep& step = arguments.step[0];
  if (step.skip != 0) return;
  for (std::int64_t j = 0; j < p.cols(); ++j) {
    const double g = step.gradient_scale * gradients(0, j) + arguments.weight_decay * p(0, j);
    double direction = g;
    if (m) {
      m(0, j) = arguments.momentum * m(0, j) + g;
      direction = arguments.nesterov ? g + arguments.momentum * m(0, j) : m(0, j);
    }
    p(0, j) -= step.learning_rate * direction;
  }
}

namespace {

/// Returns the mean of f(i, j) over all elements.
template <class Function>
double mean_of(const Matrix& shape, const Function& f) {
  double sum = 0;
  for (std::int64_t i = 0; i < shape.rows(); ++i)
    for (std::int64_t j = 0; j < shape.cols(); ++j) sum += f(i, j);
  return sum / static_cast<double>(shape.rows() * shape.cols());
}

/// Updates the moments of rows or of columns from the means over the other index.
template <class Function>
void update_factor(const Matrix& moment, std::int64_t others, double b, const Function& square) {
  for (std::int64_t k = 0; k < moment.cols(); ++k) {
    double sum = 0;
    for (std::int64_t other = 0; other < others; ++other) sum += square(k, other);
    moment(0, k) = b * moment(0, k) + (1 - b) * sum / static_cast<double>(others);
  }
}

}  // namespace

template <>
void kernel(Context&, const ops::AdafactorArguments& arguments) {
  const Matrix p(arguments.parameters, "adafactor");
  const Matrix gradients(arguments.gradients, "adafactor");
  const Matrix r(arguments.row_moment, "adafactor");
  const Matrix c(arguments.column_moment, "adafactor");
  const Matrix v(arguments.second_moment, "adafactor");
  const ops::UpdateStep& step = arguments.step[0];
  if (step.skip != 0) return;
  const double b = 1 - std::pow(static_cast<double>(step.step), -arguments.decay_rate);
  const auto g = [&](std::int64_t i, std::int64_t j) { return step.gradient_scale * gradients(i, j); };
  const auto square = [&](std::int64_t i, std::int64_t j) { return g(i, j) * g(i, j) + arguments.square_epsilon; };
  double mean = 1;
  if (v) {
    for (std::int64_t i = 0; i < p.rows(); ++i)
      for (std::int64_t j = 0; j < p.cols(); ++j) v(i, j) = b * v(i, j) + (1 - b) * square(i, j);
  } else {
    update_factor(r, p.cols(), b, square);
    update_factor(c, p.rows(), b, [&](std::int64_t j, std::int64_t i) { return square(i, j); });
    mean = mean_of(r, [&](std::int64_t, std::int64_t i) { return r(0, i); });
  }
  const auto u = [&](std::int64_t i, std::int64_t j) {
    return g(i, j) / std::sqrt(v ? v(i, j) : r(0, i) / mean * c(0, j));
  };
  const double rms = std::sqrt(mean_of(p, [&](std::int64_t i, std::int64_t j) { return u(i, j) * u(i, j); }));
  const double size = std::sqrt(mean_of(p, [&](std::int64_t i, std::int64_t j) { return p(i, j) * p(i, j); }));
  const double shrink = std::max(1.0, rms / arguments.clip_threshold);
  const double rate = step.learning_rate * (arguments.scale_parameter ? std::max(arguments.scale_epsilon, size) : 1.0);
  for (std::int64_t i = 0; i < p.rows(); ++i)
    for (std::int64_t j = 0; j < p.cols(); ++j) p(i, j) -= rate * (u(i, j) / shrink + arguments.weight_decay * p(i, j));
}

template <>
void kernel(Context&, const ops::ClipValuesArguments& arguments) {
  const Matrix x(arguments.x, "clip_values");
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (std::int64_t j = 0; j < x.cols(); ++j) x(i, j) = std::clamp(x(i, j), -arguments.limit, arguments.limit);
}

}  // namespace dragoman::backend::reference
