#include <cmath>

#include "kernels.h"

#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/update.h>

namespace dragoman::backend::cpu {
namespace {

double sum_in_order(const Tensor& row) {
  double sum = 0;
  for (std::int64_t i = 0; i < row.cols; ++i) sum += row.as<double>()[i];
  return sum;
}

}  // namespace

template <>
void kernel(Context&, const ops::SumLossesArguments& arguments) {
  ops::LossRecord& record = *arguments.record;
  record.alignment = sum_in_order(arguments.alignment_losses) / arguments.passes;
  record.loss = sum_in_order(arguments.losses);
  if (arguments.alignment_weight != 0) record.loss += arguments.alignment_weight * record.alignment;
  record.negative_log_likelihood = sum_in_order(arguments.nlls);
}

template <>
void kernel(Context&, const ops::PrepareUpdateArguments& arguments) {
  const ops::UpdatePlan& plan = arguments.plan[0];
  ops::UpdateRecord& record = *arguments.record;
  const bool previous_skipped = plan.depends_on_previous != 0 && record.step.skip != 0;
  record.losses = {};
  for (const ops::LossRecord& batch : arguments.losses.span()) {
    record.losses.loss += batch.loss;
    record.losses.negative_log_likelihood += batch.negative_log_likelihood;
    record.losses.alignment += batch.alignment;
  }
  const auto norm_of = [&](const Tensor& sum_of_squares) {
    return std::sqrt(*sum_of_squares.as<double>()) / plan.loss_scale;
  };
  record.gradient_norm = norm_of(arguments.sum_of_squares);
  const bool finite = std::isfinite(record.losses.loss) && std::isfinite(record.gradient_norm);
  const bool skip = previous_skipped || !finite;
  if (!skip && !arguments.clipped_sum_of_squares.empty())
    record.gradient_norm = norm_of(arguments.clipped_sum_of_squares);
  const bool clips = plan.clip_norm > 0 && record.gradient_norm > plan.clip_norm;
  record.step = {.learning_rate = plan.learning_rate,
                 .gradient_scale = (clips ? plan.clip_norm / record.gradient_norm : 1) / plan.loss_scale,
                 .average_decay = plan.average_decay,
                 .step = plan.step,
                 .skip = skip ? 1 : 0};
}

}  // namespace dragoman::backend::cpu
