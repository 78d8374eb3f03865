#include "kernels.h"
#include "matrix.h"
#include "round_to.h"

#include <dragoman/ops/matmul.h>

namespace dragoman::backend::reference {

template <>
void kernel(Context&, const ops::MatMulArguments& arguments) {
  const Matrix a(arguments.a, "matmul");
  const Matrix b(arguments.b, "matmul");
  const Matrix c(arguments.c, "matmul");
  const std::int64_t depth = arguments.transpose_a ? a.rows() : a.cols();
  core::require(!tensor::is_int8(arguments.type), core::ErrorCode::kUnsupported,
                "matmul: plain matrices are not multiplied in {}", tensor::name_of(arguments.type));
  const auto rounded = [type = arguments.type](double value) { return input_of_product(type, value); };
  for (std::int64_t i = 0; i < c.rows(); ++i)
    for (std::int64_t j = 0; j < c.cols(); ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += rounded(arguments.transpose_a ? a(k, i) : a(i, k)) * rounded(arguments.transpose_b ? b(j, k) : b(k, j));
      c.put(i, j, sum, arguments.accumulate);
    }
}

}  // namespace dragoman::backend::reference
