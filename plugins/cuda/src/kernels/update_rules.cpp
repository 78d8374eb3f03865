#include "kernels.h"
#include "views.h"

#include <dragoman/ops/update_rules.h>

namespace dragoman::backend::cuda {

template <>
void kernel(Context&, const ops::LionArguments& arguments) {
  device::lion({.parameters = matrix(arguments.parameters, "lion").data,
                .gradients = matrix(arguments.gradients, "lion").data,
                .first_moment = matrix(arguments.first_moment, "lion").data,
                .count = arguments.parameters.size(),
                .beta1 = arguments.beta1,
                .beta2 = arguments.beta2,
                .weight_decay = arguments.weight_decay,
                .step = arguments.step.data});
}

template <>
void kernel(Context&, const ops::SgdArguments& arguments) {
  device::sgd({.parameters = matrix(arguments.parameters, "sgd").data,
               .gradients = matrix(arguments.gradients, "sgd").data,
               .first_moment = matrix(arguments.first_moment, "sgd").data,
               .count = arguments.parameters.size(),
               .momentum = arguments.momentum,
               .nesterov = arguments.nesterov,
               .weight_decay = arguments.weight_decay,
               .step = arguments.step.data});
}

template <>
void kernel(Context&, const ops::ClipValuesArguments& arguments) {
  device::clip_values(matrix(arguments.x, "clip_values"), static_cast<float>(arguments.limit));
}

template <>
void kernel(Context& context, const ops::AdafactorArguments& arguments) {
  constexpr std::string_view kOp = "adafactor";
  const tensor::ScratchScope scope(context.arena());
  const auto doubles = [&](std::int64_t count) {
    return static_cast<double*>(context.arena().allocate(static_cast<std::size_t>(count) * sizeof(double)));
  };
  device::adafactor({.parameters = matrix(arguments.parameters, kOp),
                     .gradients = matrix(arguments.gradients, kOp),
                     .row_moment = matrix(arguments.row_moment, kOp),
                     .column_moment = matrix(arguments.column_moment, kOp),
                     .second_moment = matrix(arguments.second_moment, kOp),
                     .decay_rate = arguments.decay_rate,
                     .square_epsilon = static_cast<float>(arguments.square_epsilon),
                     .scale_epsilon = static_cast<float>(arguments.scale_epsilon),
                     .clip_threshold = static_cast<float>(arguments.clip_threshold),
                     .scale_parameter = arguments.scale_parameter,
                     .weight_decay = static_cast<float>(arguments.weight_decay),
                     .step = arguments.step.data,
                     .row_sums = doubles(2 * arguments.parameters.rows),
                     .totals = doubles(device::kAdafactorTotals)});
}

}  // namespace dragoman::backend::cuda
