#include "access.h"

#include <cmath>

namespace dragoman::backend::cuda::device {
namespace {

/// Returns the sum in all threads.
SIMT_DEVICE double sum_of(const double* values, std::int64_t count, const Shared<double>& cells) {
  double sum = 0;
  for (std::int64_t i = simt::thread_index(); i < count; i += kThreads) sum += values[i];
  return reduce_block(sum, Sum(), cells);
}

/// Runs in one block.
struct LossesOfRows {
  SumLosses arguments;
  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<double>(kWarps);
    const double loss = sum_of(arguments.losses, arguments.rows, cells);
    const double nll = sum_of(arguments.nlls, arguments.rows, cells);
    const double alignment = sum_of(arguments.alignment_losses, arguments.aligned_rows, cells) / arguments.passes;
    if (simt::thread_index() != 0) return;
    ops::LossRecord& record = *arguments.record;
    record.loss = arguments.alignment_weight == 0 ? loss : loss + arguments.alignment_weight * alignment;
    record.negative_log_likelihood = nll;
    record.alignment = alignment;
  }
};

SIMT_DEVICE bool finite(double value) {
  return value - value == 0;
}

/// Runs in one thread.
struct Prepare {
  PrepareUpdate arguments;
  SIMT_DEVICE void operator()() const {
    if (simt::thread_index() != 0) return;
    const ops::UpdatePlan plan = *arguments.plan;
    ops::UpdateRecord& record = *arguments.record;
    bool skip = plan.depends_on_previous != 0 && record.step.skip != 0;
    ops::LossRecord sums;
    for (std::int64_t i = 0; i < arguments.batches; ++i) {
      sums.loss += arguments.losses[i].loss;
      sums.negative_log_likelihood += arguments.losses[i].negative_log_likelihood;
      sums.alignment += arguments.losses[i].alignment;
    }
    double norm = sqrt(*arguments.sum_of_squares) / plan.loss_scale;
    skip = skip || !finite(sums.loss) || !finite(norm);
    if (!skip && arguments.clipped_sum_of_squares != nullptr)
      norm = sqrt(*arguments.clipped_sum_of_squares) / plan.loss_scale;
    const bool clips = plan.clip_norm > 0 && norm > plan.clip_norm;
    record.losses = sums;
    record.gradient_norm = norm;
    record.step.learning_rate = plan.learning_rate;
    record.step.gradient_scale = (clips ? plan.clip_norm / norm : 1) / plan.loss_scale;
    record.step.average_decay = plan.average_decay;
    record.step.step = plan.step;
    record.step.skip = skip ? 1 : 0;
  }
};

}  // namespace

void sum_losses(const SumLosses& arguments) {
  simt::launch({1}, kThreads, kWarps * sizeof(double), LossesOfRows{arguments});
}

void prepare_update(const PrepareUpdate& arguments) {
  simt::launch({1}, kWarp, 0, Prepare{arguments});
}

}  // namespace dragoman::backend::cuda::device
