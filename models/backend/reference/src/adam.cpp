#include "kernels.h"
#include "matrix.h"

#include <cmath>

#include <dragoman/ops/adam.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::AdamArguments& arguments) {
  const Matrix p(arguments.parameters, "adam");
  const Matrix gradients(arguments.gradients, "adam");
  const Matrix m(arguments.first_moment, "adam");
  const Matrix v(arguments.second_moment, "adam");
  const ops::UpdateStep& step = arguments.step[0];
  if (step.skip != 0) return;
  const double first_correction = 1 - std::pow(arguments.beta1, static_cast<double>(step.step));
  const double second_correction = 1 - std::pow(arguments.beta2, static_cast<double>(step.step));
  for (std::int64_t j = 0; j < p.cols(); ++j) {
    const double g = step.gradient_scale * gradients(0, j) + (arguments.coupled ? arguments.weight_decay * p(0, j) : 0);
    m(0, j) = arguments.beta1 * m(0, j) + (1 - arguments.beta1) * g;
    v(0, j) = arguments.beta2 * v(0, j) + (1 - arguments.beta2) * g * g;
    const double first = m(0, j) / first_correction;
    const double second = v(0, j) / second_correction;
    const double decay = arguments.coupled ? 0 : arguments.weight_decay * p(0, j);
    p(0, j) -= step.learning_rate * (first / (std::sqrt(second) + arguments.epsilon) + decay);
  }
}

template <>
void kernel(Context&, const ops::MovingAverageArguments& arguments) {
  const Matrix average(arguments.average, "moving_average");
  const Matrix values(arguments.values, "moving_average");
  if (arguments.step[0].skip != 0) return;
  const double decay = arguments.step[0].average_decay;
  for (std::int64_t j = 0; j < average.cols(); ++j) average(0, j) = decay * average(0, j) + (1 - decay) * values(0, j);
}

template <>
void kernel(Context&, const ops::SumOfSquaresArguments& arguments) {
  const Matrix matrix(arguments.x, "sum_of_squares");
  double sum = 0;
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    for (std::int64_t j = 0; j < matrix.cols(); ++j) sum += matrix(i, j) * matrix(i, j);
  Matrix(arguments.sum, "sum_of_squares")(0, 0) = sum;
}

}  // namespace dragoman::backend::reference
