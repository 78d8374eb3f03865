#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <dragoman/core/function_ref.h>

namespace dragoman::core {

/// More threads than any machine has cores: a larger number is a mistake and not a wish.
inline constexpr int kMaxThreads = 1024;

/// How many threads `threads` asks for: itself, or default_threads() for 0. Error{kInvalidArgument} if it is negative
/// or more than kMaxThreads.
int thread_count(int threads);

/// Starts a thread that runs `body`; nothing if the operating system has none to give (limits of processes or memory).
/// As with std::thread, an exception that leaves `body` ends the program.
std::optional<std::jthread> try_start_thread(std::function<void()> body);
/// The same where nothing can go on without the thread: Error{kIo} says what it was for and what to do.
std::jthread start_thread(std::string_view purpose, std::function<void()> body);

/// Runs independent blocks of work. Callers cut the work into blocks whose number is a function of the shapes alone,
/// never of the thread count, so that results have the same bits on any executor; or into any blocks where no bit
/// depends on where it is cut.
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

/// Runs blocks on a pool of `threads` threads, of which the caller's is one. Where the operating system refuses to
/// start so many, there are fewer: results are the same. Several threads may call for_each() at the same time, and so
/// may a body.
///
/// Not TBB, whose scheduler (2021.8) ends the program by std::terminate when a worker of its own cannot start.
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

/// A SequentialExecutor for one thread, else a ParallelExecutor. `threads` as for thread_count().
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
