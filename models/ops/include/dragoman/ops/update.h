#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Decides on the device what an update does, so that nothing waits for the host, and notes it in `record`. With
/// s = plan.loss_scale:
///   losses               the sums over all of `losses`, in their order
///   gradient_norm        sqrt(sum_of_squares) / s
///   step.skip            1 if that loss or norm is not finite, or if the plan depends on an update that was skipped;
///                        else 0, and then, where values were clipped, gradient_norm is
///                        sqrt(clipped_sum_of_squares) / s
///   step.gradient_scale  c / s, where c brings a norm of more than plan.clip_norm down to that, and is else 1
/// The rest of `step` is the plan's.
struct PrepareUpdateArguments {
  DeviceArray<UpdatePlan> plan;     ///< one
  DeviceArray<LossRecord> losses;   ///< of each batch of the update
  Tensor sum_of_squares;            ///< F64 [1, 1], of the gradients
  Tensor clipped_sum_of_squares{};  ///< the same after their values were clipped; empty: they were not
  UpdateRecord* record = nullptr;   ///< holds that of the update before
};
inline constexpr KernelKey<void(Context&, const PrepareUpdateArguments&)> kPrepareUpdate{"prepare_update"};

void prepare_update(Context& context, const PrepareUpdateArguments& arguments);

}  // namespace dragoman::ops
