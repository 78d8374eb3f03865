#include "dragoman/ops/adam.h"

#include "check.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {

void adam(Context& context, const AdamArguments& arguments) {
  require_same_shape("adam", arguments.parameters, arguments.gradients);
  require_same_shape("adam", arguments.parameters, arguments.first_moment);
  require_same_shape("adam", arguments.parameters, arguments.second_moment);
  core::require(arguments.step >= 1, core::ErrorCode::kInvalidArgument, "adam: steps count from 1, not {}",
                arguments.step);
  context.kernels().get(kAdam)(context, arguments);
}

double sum_of_squares(Context& context, const Tensor& x) {
  return context.kernels().get(kSumOfSquares)(context, x);
}

}  // namespace dragoman::ops
