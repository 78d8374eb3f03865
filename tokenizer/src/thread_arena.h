#pragma once

#include <algorithm>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <dragoman/core/parallel.h>

namespace dragoman::tokenizer {

/// Threads for one pipeline.
class ThreadArena {
 public:
  /// 0 means core::default_threads().
  explicit ThreadArena(int threads)
      : threads_(threads > 0 ? threads : core::default_threads()),
        // Without this, TBB prints a warning to stderr when more threads are asked for than there are cores.
        limit_(tbb::global_control::max_allowed_parallelism,
               std::max(static_cast<std::size_t>(threads_),
                        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism))),
        arena_(threads_) {}

  /// How many items a pipeline should have under way, so that no thread waits for the slowest.
  std::size_t tokens() const { return static_cast<std::size_t>(threads_) * 2; }
  int threads() const { return threads_; }
  template <class Body>
  void execute(Body&& body) {
    arena_.execute(body);
  }

 private:
  int threads_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

}  // namespace dragoman::tokenizer
