#pragma once

#include <cstdint>
#include <memory>

#include <dragoman/core/function_ref.h>

namespace dragoman::core {

/// Runs independent blocks of work. Callers cut the work into blocks whose number is a function of the shapes alone,
/// never of the thread count, so that results have the same bits on any executor.
class Executor {
 public:
  virtual ~Executor();
  /// Calls body(i) once for each i in [0, blocks), in any order, possibly at the same time; returns when all are done.
  /// An exception from a body reaches the caller (one of them, if several throw).
  virtual void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) = 0;
  virtual int threads() const noexcept = 0;
};

/// Runs every block on the calling thread, in order. Stateless: may be shared.
class SequentialExecutor final : public Executor {
 public:
  void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) override;
  int threads() const noexcept override { return 1; }
};

/// Runs blocks on a task arena of `threads` slots (the caller's thread is one of them).
class ParallelExecutor final : public Executor {
 public:
  explicit ParallelExecutor(int threads);
  ~ParallelExecutor() override;
  void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) override;
  int threads() const noexcept override;

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

/// A SequentialExecutor for one thread, else a ParallelExecutor. `threads` 0 means default_threads().
std::unique_ptr<Executor> make_executor(int threads);

/// Calls body(begin, end) for consecutive ranges of at most `block` that cover [0, count).
template <class Body>
void for_each_range(Executor& executor, std::int64_t count, std::int64_t block, Body&& body) {
  const std::int64_t blocks = (count + block - 1) / block;
  executor.for_each(blocks, [&](std::int64_t i) {
    const std::int64_t begin = i * block;
    body(begin, begin + block < count ? begin + block : count);
  });
}

/// How many threads this process may keep busy: the affinity mask, cut to the cgroup's CPU quota; at least 1.
int default_threads();

}  // namespace dragoman::core
