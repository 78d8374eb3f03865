#include "kernels.h"
#include "views.h"

#include <dragoman/ops/adam.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context&, const ops::AdamArguments& arguments) {
  device::adam({.parameters = matrix(arguments.parameters, "adam").data,
                .gradients = matrix(arguments.gradients, "adam").data,
                .first_moment = matrix(arguments.first_moment, "adam").data,
                .second_moment = matrix(arguments.second_moment, "adam").data,
                .count = arguments.parameters.size(),
                .beta1 = arguments.beta1,
                .beta2 = arguments.beta2,
                .epsilon = arguments.epsilon,
                .weight_decay = arguments.weight_decay,
                .step = arguments.step.data,
                .coupled = arguments.coupled});
}

template <>
void kernel(Context&, const ops::MovingAverageArguments& arguments) {
  device::moving_average(matrix(arguments.average, "moving_average").data,
                         matrix(arguments.values, "moving_average").data, arguments.average.size(),
                         arguments.step.data);
}

template <>
void kernel(Context& context, const ops::SumOfSquaresArguments& arguments) {
  constexpr std::string_view kOp = "sum_of_squares";
  const tensor::ScratchScope scope(context.arena());
  auto* const partial_sums = static_cast<double*>(context.arena().allocate(device::kSquareBlocks * sizeof(double)));
  device::sum_of_squares(matrix(arguments.x, kOp), partial_sums,
                         view_of<double>(arguments.sum, tensor::DType::kF64, kOp).data);
}

}  // namespace dragoman::backend::cuda
