#include "launch_times.h"

#include "device_error.h"
#include "launch_timer.h"
#include "steps/kernel_name.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

namespace dragoman::backend::cuda {
namespace {

constexpr std::size_t kMaxPending = 4096;

struct Pending {
  const char* name;
  cudaEvent_t begin;
  cudaEvent_t end;
};
struct Sum {
  std::uint64_t launches = 0;
  double seconds = 0;
};
struct Times {
  std::mutex mutex;
  std::vector<Pending> pending;
  std::map<const char*, Sum> sums;

  /// A launch that failed, or a context that is gone, has no time.
  void settle() {
    for (const Pending& launch : pending) {
      float milliseconds = 0;
      if (cudaEventSynchronize(launch.end) == cudaSuccess &&
          cudaEventElapsedTime(&milliseconds, launch.begin, launch.end) == cudaSuccess) {
        Sum& sum = sums[launch.name];
        ++sum.launches;
        sum.seconds += milliseconds / 1000.0;
      }
      ignore(cudaEventDestroy(launch.begin));
      ignore(cudaEventDestroy(launch.end));
    }
    pending.clear();
  }
};
Times& times() {
  static Times& of_process = *new Times;  // lives to the end, since a static Host may launch and ask later
  return of_process;
}
std::atomic<bool> is_on{false};

/// nullptr if there is none to be had.
cudaEvent_t recorded_event() {
  cudaEvent_t event = nullptr;
  if (cudaEventCreate(&event) != cudaSuccess) return nullptr;
  if (cudaEventRecord(event, cudaStreamPerThread) == cudaSuccess) return event;
  ignore(cudaEventDestroy(event));
  return nullptr;
}

}  // namespace

void* launch_times::begin_launch() noexcept {
  return is_on ? recorded_event() : nullptr;
}

void launch_times::end_launch(const char* name, void* begun) noexcept {
  if (begun == nullptr) return;
  auto* const begin = static_cast<cudaEvent_t>(begun);
  auto* const end = recorded_event();
  if (end == nullptr) {
    ignore(cudaEventDestroy(begin));
    return;
  }
  Times& all = times();
  const std::lock_guard lock(all.mutex);
  if (all.pending.size() >= kMaxPending) all.settle();
  all.pending.push_back({name, begin, end});
}

TimedLaunch::TimedLaunch(const char* name) : name_(name), begin_(launch_times::begin_launch()) {}

TimedLaunch::~TimedLaunch() {
  launch_times::end_launch(name_, begin_);
}

void launch_times::begin() noexcept {
  is_on = true;
}

std::vector<tensor::KernelTime> launch_times::take() {
  Times& all = times();
  const std::lock_guard lock(all.mutex);
  all.settle();
  std::map<std::string, Sum> named;  // one kernel is launched from more than one place
  for (const auto& [name, sum] : all.sums) {
    Sum& of_name = named[kernel_name(name)];
    of_name.launches += sum.launches;
    of_name.seconds += sum.seconds;
  }
  std::vector<tensor::KernelTime> kernels;
  for (const auto& [name, sum] : named) kernels.push_back({name, sum.launches, sum.seconds});
  std::ranges::stable_sort(kernels, std::ranges::greater(), &tensor::KernelTime::seconds);
  return kernels;
}

}  // namespace dragoman::backend::cuda
