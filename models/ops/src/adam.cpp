#include "dragoman/ops/adam.h"

#include "check.h"

#include <dragoman/core/error.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::ops {

void adam(Context& context, const AdamArguments& arguments) {
  require_same_shape("adam", arguments.parameters, arguments.gradients);
  require_same_shape("adam", arguments.parameters, arguments.first_moment);
  require_same_shape("adam", arguments.parameters, arguments.second_moment);
  context.kernels().get(kAdam)(context, arguments);
}

void adam(Context& context, AdamArguments arguments, const UpdateStep& step) {
  core::require(step.step >= 1, core::ErrorCode::kInvalidArgument, "adam: steps count from 1, not {}", step.step);
  arguments.step = context.upload_copy(step);
  adam(context, arguments);
}

void moving_average(Context& context, const MovingAverageArguments& arguments) {
  require_same_shape("moving_average", arguments.average, arguments.values);
  context.kernels().get(kMovingAverage)(context, arguments);
}

Tensor queue_sum_of_squares(Context& context, const Tensor& x) {
  const Tensor sum = context.arena().allocate(1, 1, tensor::DType::kF64, context.device());
  context.kernels().get(kSumOfSquares)(context, {x, sum});
  return sum;
}

double sum_of_squares(Context& context, const Tensor& x) {
  const tensor::ScratchScope scratch(context.arena());
  const Tensor sum = queue_sum_of_squares(context, x);
  return tensor::HostView::of(context.memory(), sum).tensor().as<double>()[0];
}

}  // namespace dragoman::ops
