#include "kernels.h"
#include "matrix.h"

#include <dragoman/core/random.h>
#include <dragoman/ops/dropout.h>

namespace dragoman::backend::reference {

double dropout_factor(double rate, const tensor::RandomState& random, std::int64_t element) {
  if (rate == 0) return 1;
  const auto index = static_cast<std::uint64_t>(element);
  const core::RandomBlock block = core::random_block(random.key->seed, ops::random_stream(random), index / 8);
  const auto lane = index % 8;
  const std::uint32_t word = block[lane / 2];
  const std::uint32_t bits = lane % 2 == 0 ? word & 0xFFFF : word >> 16;
  return bits >= ops::dropout_threshold(rate) ? ops::dropout_scale(rate) : 0;
}

template <>
void kernel(Context&, const ops::DropoutArguments& arguments) {
  const Matrix x(arguments.x, "dropout");
  const Matrix y(arguments.y, "dropout");
  for (std::int64_t i = 0; i < y.rows(); ++i)
    for (std::int64_t j = 0; j < y.cols(); ++j) {
      const double factor = dropout_factor(arguments.rate, arguments.random, i * y.cols() + j);
      y.put(i, j, factor * x(i, j), arguments.accumulate);
    }
}

}  // namespace dragoman::backend::reference
