#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Decides on the device whether and how an update is applied, so that nothing waits for the host. Stores the outcome
/// in `record`. With s = plan.loss_scale:
///   losses               the sums over all of `losses`, in their order
///   gradient_norm        sqrt(sum_of_squares) / s
///   step.skip            1 if that loss or norm is not finite, or if the plan depends on a skipped update; else 0
///   gradient_norm        if values were clipped and the update is not skipped: sqrt(clipped_sum_of_squares) / s
///   step.gradient_scale  c / s, where c reduces a norm above plan.clip_norm to plan.clip_norm, and is 1 otherwise
/// All other members of `step` come from the plan.
struct PrepareUpdateArguments {
  DeviceArray<UpdatePlan> plan;     ///< one
  DeviceArray<LossRecord> losses;   ///< one for each batch of the update
  Tensor sum_of_squares;            ///< F64 [1, 1], of the gradients
  Tensor clipped_sum_of_squares{};  ///< after clipping of values; empty if values were not clipped
  UpdateRecord* record = nullptr;   ///< on entry, the record of the previous update
};
inline constexpr KernelKey<void(Context&, const PrepareUpdateArguments&)> kPrepareUpdate{"prepare_update"};

/// Runs the kernel. Error{kInvalidArgument} unless there is one plan and the sums of squares are [1, 1]. Does not
/// wait for the device.
void prepare_update(Context& context, const PrepareUpdateArguments& arguments);

}  // namespace dragoman::ops
