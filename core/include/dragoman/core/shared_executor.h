#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

#include <dragoman/core/function_ref.h>
#include <dragoman/core/parallel.h>

namespace dragoman::core {

class SharedExecutor;

/// Keeps track of idle threads, and sends them to executors that request help.
class ThreadLender {
 public:
  virtual ~ThreadLender();
  /// Returns how many threads one borrower may use now, including those that help it already. It is called before every
  /// shared piece of work and must be cheap.
  virtual int idle() const noexcept = 0;
  /// Requests this number of further threads. Each of them calls borrower.join() and then help(), soon or never. There
  /// are no errors: a thread that cannot be sent does not come.
  virtual void call(SharedExecutor& borrower, int threads) noexcept = 0;
};

/// An executor for one borrowing thread, which shares its blocks with threads that are idle. It is for pieces of work
/// of microseconds, and for threads that spend most of their time in blocks: waking another thread costs as much as a
/// small piece of work. Helpers poll for blocks, so passing a block takes a fraction of a microsecond. A helper that
/// finds no block for kPatience leaves, and is called again when there are blocks.
///
/// The operating system may give a helper's core to another process. The executor notices when the helper makes no
/// progress between two polls, or does not finish a block in time. The borrowing thread then works without helpers for
/// a while, and for longer with each repetition.
///
/// Only the borrowing thread may call for_each(). A body may call it too; the blocks of that call stay on its thread.
class SharedExecutor final : public Executor {
 public:
  using Clock = std::chrono::steady_clock;
  /// Longer than the work of a decoding loop between two kernels, and than the pause between sentences that arrive one
  /// at a time. Short compared with other work on a core.
  static constexpr std::chrono::microseconds kPatience{200};

  /// The lender must outlive the executor. With nullptr the executor never shares.
  explicit SharedExecutor(ThreadLender* lender) : lender_(lender) {}
  SharedExecutor(const SharedExecutor&) = delete;
  SharedExecutor& operator=(const SharedExecutor&) = delete;
  /// No helper may be present any more.
  ~SharedExecutor() override = default;

  // --- the borrowing thread ---

  void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) override;
  /// Returns the number of threads that would run blocks now: this one and its helpers.
  int threads() const noexcept override;

  // --- helpers ---

  /// Records that one of the requested threads has come. A helper calls it before help().
  void join() noexcept;
  /// Records that this number of the requested threads will not come.
  void dismiss(int threads) noexcept { called_.fetch_sub(threads, std::memory_order_relaxed); }
  /// Runs blocks until `leave` returns true, or until there have been none for kPatience. Call join() first.
  void help(FunctionRef<bool()> leave) noexcept;

 private:
  /// One call of for_each().
  struct Work {
    const FunctionRef<void(std::int64_t)>* body = nullptr;
    std::exception_ptr error;
    std::atomic<bool> failed = false;
  };

  void run_alone(std::int64_t blocks, FunctionRef<void(std::int64_t)> body);
  void run_shared(std::int64_t blocks, FunctionRef<void(std::int64_t)> body, Clock::time_point start);
  void call_helpers(int wanted);
  void note_work(Clock::time_point start, int threads) noexcept;
  /// Runs blocks until there are no more, and returns their number.
  std::int64_t run_blocks() noexcept;
  /// Takes the next block that no thread has begun and returns it, or -1 if there is none.
  std::int64_t take() noexcept;
  void run(std::int64_t block) noexcept;
  void wait_for_helpers(std::int64_t blocks, Clock::time_point start) noexcept;
  void do_without_helpers() noexcept;

  static constexpr std::size_t kLine = 64;

  ThreadLender* const lender_;
  bool sharing_ = false;  ///< written by the borrowing thread while no other thread reads it
  Clock::duration penalty_{};
  /// The time inside for_each(), as one thread would need it, and the time outside. Both count since the executor last
  /// decided whether helpers are worth calling.
  Clock::duration inside_{};
  Clock::duration outside_{};
  Clock::time_point last_end_{};
  bool worth_helping_ = false;
  Clock::time_point alone_until_{};
  /// The number of blocks that no thread has begun. Helpers poll it. A thread that decrements it has begun a block, and
  /// reads `work_`.
  alignas(kLine) std::atomic<std::int64_t> open_ = 0;
  Work work_;
  /// The number of blocks that helpers have finished.
  alignas(kLine) std::atomic<std::int32_t> ended_ = 0;
  alignas(kLine) std::atomic<int> present_ = 0;
  std::atomic<int> called_ = 0;        ///< and not arrived yet
  std::atomic<bool> held_up_ = false;  ///< a helper was held up since the last check
};

}  // namespace dragoman::core
