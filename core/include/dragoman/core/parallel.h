#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <dragoman/core/function_ref.h>

namespace dragoman::core {

/// The largest permitted number of threads. No machine has more cores, so a larger number is a mistake.
inline constexpr int kMaxThreads = 1024;

/// Returns `threads`, or default_threads() if it is 0. Throws Error{kInvalidArgument} if it is negative or above
/// kMaxThreads.
int thread_count(int threads);

/// Starts a thread that runs `body`. Returns nullopt if the operating system cannot start one (limit of processes or
/// memory). As with std::thread, an exception that leaves `body` terminates the program.
std::optional<std::jthread> try_start_thread(std::function<void()> body);
/// Like try_start_thread(), for threads that are indispensable. Throws Error{kIo} that names `purpose` and a remedy.
std::jthread start_thread(std::string_view purpose, std::function<void()> body);

/// Runs independent blocks of work. To get the same bits on any executor, callers choose the number of blocks from the
/// shapes alone and never from the thread count. If no bit depends on the boundaries, they may use any blocks.
///
///     std::vector<std::int64_t> squares(100);
///     const auto executor = make_executor(4);
///     executor->for_each(100, [&](std::int64_t i) { squares[i] = i * i; });
///
/// An executor must outlive the objects that use it. SequentialExecutor and ParallelExecutor are thread-safe.
class Executor {
 public:
  virtual ~Executor();
  /// Calls body(i) once for each i in [0, blocks), in any order, possibly concurrently. Returns when all calls have
  /// ended. If bodies throw, one of the exceptions is rethrown to the caller.
  virtual void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) = 0;
  virtual int threads() const noexcept = 0;
};

/// Runs every block on the calling thread, in order. It has no state and may be shared.
class SequentialExecutor final : public Executor {
 public:
  void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) override;
  int threads() const noexcept override { return 1; }
};

/// Runs blocks on a pool of `threads` threads, including the caller's. If the operating system refuses to start all of
/// them, the pool is smaller and the results are the same. Several threads may call for_each() at the same time, and
/// bodies may call it too.
///
/// This is not TBB, because its scheduler (2021.8) calls std::terminate when a worker thread cannot be started.
class ParallelExecutor final : public Executor {
 public:
  explicit ParallelExecutor(int threads);
  ~ParallelExecutor() override;
  void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) override;
  int threads() const noexcept override;

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

/// Returns a SequentialExecutor for one thread, otherwise a ParallelExecutor. `threads` is as for thread_count().
std::unique_ptr<Executor> make_executor(int threads);

/// Calls body(begin, end) for consecutive ranges of at most `block` elements that cover [0, count).
template <class Body>
void for_each_range(Executor& executor, std::int64_t count, std::int64_t block, Body&& body) {
  const std::int64_t blocks = (count + block - 1) / block;
  executor.for_each(blocks, [&](std::int64_t i) {
    const std::int64_t begin = i * block;
    body(begin, begin + block < count ? begin + block : count);
  });
}

/// Returns how many threads this process may keep busy: the size of the affinity mask, limited by the cgroup's CPU
/// quota; at least 1.
int default_threads();

}  // namespace dragoman::core
