#include "kernels.h"
#include "matrix.h"
#include "weight_reader.h"

#include <dragoman/ops/linear.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::LinearArguments& arguments) {
  const Matrix x(arguments.x, "linear");
  WeightReader weight = arguments.packed != nullptr ? WeightReader(arguments.packed, "linear")
                                                    : WeightReader(arguments.weight, arguments.type, "linear");
  const Matrix bias(arguments.bias, "linear");
  const Matrix pre_activation(arguments.pre_activation, "linear");
  const Matrix y(arguments.y, "linear");
  for (std::int64_t i = 0; i < y.rows(); ++i) {
    weight.take_row(&x(i, 0));
    for (std::int64_t n = 0; n < y.cols(); ++n) {
      double sum = weight.product(n);
      if (bias) sum += bias(0, n);
      if (pre_activation) pre_activation(i, n) = sum;
      y(i, n) = activate(arguments.activation, sum);
    }
  }
}

}  // namespace dragoman::backend::reference
