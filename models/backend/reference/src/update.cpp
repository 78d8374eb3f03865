#include "kernels.h"
#include "matrix.h"

#include <cmath>

#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/update.h>

namespace dragoman::backend::reference {
namespace {

double sum_of(const tensor::Tensor& row) {
  const Matrix matrix(row, "sum_losses");
  double sum = 0;
  for (std::int64_t j = 0; matrix && j < matrix.cols(); ++j) sum += matrix(0, j);
  return sum;
}

double root_of(const tensor::Tensor& sum_of_squares) {
  return std::sqrt(Matrix(sum_of_squares, "prepare_update")(0, 0));
}

}  // namespace

template <>
void kernel(Context&, const ops::SumLossesArguments& arguments) {
  const double alignment = sum_of(arguments.alignment_losses) / arguments.passes;
  const double guidance = arguments.alignment_weight == 0 ? 0 : arguments.alignment_weight * alignment;
  *arguments.record = {.loss = sum_of(arguments.losses) + guidance,
                       .negative_log_likelihood = sum_of(arguments.nlls),
                       .alignment = alignment};
}

template <>
void kernel(Context&, const ops::PrepareUpdateArguments& arguments) {
  const ops::UpdatePlan& plan = arguments.plan[0];
  ops::UpdateRecord record{
      .step = {.learning_rate = plan.learning_rate, .average_decay = plan.average_decay, .step = plan.step},
      .losses = {},
      .gradient_norm = root_of(arguments.sum_of_squares) / plan.loss_scale};
  for (std::int64_t i = 0; i < arguments.losses.size(); ++i) {
    const ops::LossRecord& batch = arguments.losses[i];
    record.losses = {.loss = record.losses.loss + batch.loss,
                     .negative_log_likelihood = record.losses.negative_log_likelihood + batch.negative_log_likelihood,
                     .alignment = record.losses.alignment + batch.alignment};
  }
  if (!std::isfinite(record.losses.loss + record.gradient_norm)) record.step.skip = 1;
  if (plan.depends_on_previous != 0 && arguments.record->step.skip != 0) record.step.skip = 1;
  if (record.step.skip == 0 && !arguments.clipped_sum_of_squares.empty())
    record.gradient_norm = root_of(arguments.clipped_sum_of_squares) / plan.loss_scale;
  if (plan.clip_norm > 0 && record.gradient_norm > plan.clip_norm)
    record.step.gradient_scale = plan.clip_norm / record.gradient_norm;
  record.step.gradient_scale /= plan.loss_scale;
  *arguments.record = record;
}

}  // namespace dragoman::backend::reference
