#include "kernels.h"
#include "packed_matrix.h"
#include "views.h"

#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context& context, const ops::MatMulArguments& arguments) {
  constexpr std::string_view kOp = "matmul";
  multiply_plain(context,
                 {.a = matrix(arguments.a, kOp),
                  .transpose_a = arguments.transpose_a,
                  .b = matrix(arguments.b, kOp),
                  .transpose_b = arguments.transpose_b,
                  .c = matrix(arguments.c, kOp),
                  .epilogue = {.accumulate = arguments.accumulate}},
                 arguments.type, kOp);
}

template <>
void kernel(Context& context, const ops::LinearArguments& arguments) {
  constexpr std::string_view kOp = "linear";
  multiply(context, matrix(arguments.x, kOp), arguments.weight, arguments.type, arguments.packed,
           matrix(arguments.y, kOp),
           {.bias = matrix(arguments.bias, kOp),
            .activation = arguments.activation,
            .pre_activation = matrix(arguments.pre_activation, kOp)},
           kOp);
}

}  // namespace dragoman::backend::cuda
