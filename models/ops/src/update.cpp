#include "dragoman/ops/update.h"

#include <dragoman/core/error.h>

namespace dragoman::ops {

void prepare_update(Context& context, const PrepareUpdateArguments& arguments) {
  if (arguments.plan.size() != 1)
    core::fail(core::ErrorCode::kInvalidArgument, "prepare_update: {} plans", arguments.plan.size());
  tensor::require_shape(arguments.sum_of_squares, 1, 1, "prepare_update: the sum of squares");
  if (!arguments.clipped_sum_of_squares.empty())
    tensor::require_shape(arguments.clipped_sum_of_squares, 1, 1, "prepare_update: the clipped sum of squares");
  context.kernels().get(kPrepareUpdate)(context, arguments);
}

}  // namespace dragoman::ops
