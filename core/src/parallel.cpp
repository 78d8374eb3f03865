#include "dragoman/core/parallel.h"

#include "dragoman/core/error.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <sched.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace dragoman::core {
namespace {

constexpr int kMaximumThreads = 1024;

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

/// Whole CPUs that the cgroup (version 2, else 1) grants, or `none` if it sets no limit.
int cgroup_quota(int none) {
  double quota = -1;
  double period = 100000;
  std::string first;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> first >> period) {
    if (first == "max") return none;
    quota = std::atof(first.c_str());
  } else {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return none;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

/// Without it TBB fixes its limit when the first arena is made, and then ignores a larger second one with a warning on
/// stderr. It is only a limit: no thread starts before an arena has work for it.
void allow_more_threads_than_cores() {
  static const tbb::global_control control(tbb::global_control::max_allowed_parallelism, kMaximumThreads);
}

}  // namespace

Executor::~Executor() = default;

void SequentialExecutor::for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) {
  for (std::int64_t i = 0; i < blocks; ++i) body(i);
}

struct ParallelExecutor::Arena {
  explicit Arena(int threads) : arena(threads) {}
  tbb::task_arena arena;
};

ParallelExecutor::ParallelExecutor(int threads) {
  require(threads >= 1, ErrorCode::kInvalidArgument, "the number of threads must be at least 1, not {}", threads);
  require(threads <= kMaximumThreads, ErrorCode::kInvalidArgument, "the number of threads must be at most {}, not {}",
          kMaximumThreads, threads);
  allow_more_threads_than_cores();
  arena_ = std::make_unique<Arena>(threads);
}

ParallelExecutor::~ParallelExecutor() = default;

void ParallelExecutor::for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) {
  if (blocks == 1) return body(0);
  arena_->arena.execute([&] {
    // simple_partitioner with grain 1: blocks are already sized by the caller, splitting must not depend on timing.
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, blocks, 1),
        [&](const tbb::blocked_range<std::int64_t>& range) {
          for (std::int64_t i = range.begin(); i != range.end(); ++i) body(i);
        },
        tbb::simple_partitioner());
  });
}

int ParallelExecutor::threads() const noexcept {
  return arena_->arena.max_concurrency();
}

std::unique_ptr<Executor> make_executor(int threads) {
  require(threads >= 0, ErrorCode::kInvalidArgument, "the number of threads must not be negative, but is {}", threads);
  if (threads == 0) threads = default_threads();
  if (threads == 1) return std::make_unique<SequentialExecutor>();
  return std::make_unique<ParallelExecutor>(threads);
}

int default_threads() {
  const int allowed = affinity_count();
  return std::min(allowed, cgroup_quota(allowed));
}

}  // namespace dragoman::core
