#pragma once

#include <vector>

#include <dragoman/tensor/backend.h>

/// The times of all launches of the process (TimedLaunch).
namespace dragoman::backend::cuda::launch_times {

/// From now on.
void begin() noexcept;
/// Those that took the most come first. Waits for what is under way.
std::vector<tensor::KernelTime> take();

}  // namespace dragoman::backend::cuda::launch_times
