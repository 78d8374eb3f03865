#include "dragoman/tensor/kernel_launch.h"

#include <dragoman/core/error.h>
#include <dragoman/tensor/context.h>

namespace dragoman::tensor {
namespace {

LaunchQueue& launch_queue_of(Context& context, const char* kernel) {
  auto* const queue = dynamic_cast<LaunchQueue*>(&context.memory());
  core::require(queue != nullptr, core::ErrorCode::kUnsupported,
                "{}: kernels cannot be launched on the device '{}', which calls them as functions", kernel,
                name_of(context.device()));
  return *queue;
}

}  // namespace

LaunchQueue::~LaunchQueue() = default;

KernelLaunch::KernelLaunch(Context& context, const char* kernel)
    : queue_(launch_queue_of(context, kernel)), kernel_(kernel), launch_(queue_.begin_launch()) {}

KernelLaunch::~KernelLaunch() {
  queue_.end_launch(launch_, kernel_);
}

}  // namespace dragoman::tensor
