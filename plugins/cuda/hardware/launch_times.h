#pragma once

#include <vector>

#include <dragoman/tensor/backend.h>

/// The times of all launches of the process (TimedLaunch).
namespace dragoman::backend::cuda::launch_times {

/// From now on.
void begin() noexcept;
/// TimedLaunch in two calls. begin_launch() returns nullptr if no times are taken; pass its result to end_launch().
void* begin_launch() noexcept;
void end_launch(const char* name, void* begin) noexcept;
/// Returns the times, the largest first. Waits for the launches in flight.
std::vector<tensor::KernelTime> take();

}  // namespace dragoman::backend::cuda::launch_times
