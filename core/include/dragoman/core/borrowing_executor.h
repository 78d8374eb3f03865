#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

#include <dragoman/core/function_ref.h>
#include <dragoman/core/parallel.h>

namespace dragoman::core {

class BorrowingExecutor;

/// Knows of threads that have nothing to do, and sends them to who asks.
class Lender {
 public:
  virtual ~Lender();
  /// How many threads one borrower may have now, those that help it already included. Asked before every shared piece
  /// of work, so it has to be cheap.
  virtual int idle() const noexcept = 0;
  /// So many more threads are wanted; each calls borrower.join() and then help(), soon or never. Error-free: who cannot
  /// be sent does not come.
  virtual void call(BorrowingExecutor& borrower, int threads) noexcept = 0;
};

/// The executor of one thread, which shares blocks with threads that have nothing to do meanwhile: for work of
/// microseconds, and for threads most of whose work comes in blocks, since waking others costs as much as little work.
/// Those who help look for blocks all the time, so handing one over takes a fraction of a microsecond; who sees none
/// for kPatience goes away, and is called again when there are. If the operating system gives a helper's core to
/// somebody else, which shows when it does not get on between two looks, or does not end a block in time, the thread
/// does without helpers for a while, for longer each time that this happens again.
///
/// for_each() is for the borrowing thread alone; a body may call it, whose blocks then stay on its thread.
class BorrowingExecutor final : public Executor {
 public:
  using Clock = std::chrono::steady_clock;
  /// Longer than what a decoding loop does between two kernels, and than the pause between sentences that come one by
  /// one; short beside a core's other work.
  static constexpr std::chrono::microseconds kPatience{200};

  /// The lender must outlive the executor; nullptr: it never shares.
  explicit BorrowingExecutor(Lender* lender) : lender_(lender) {}
  BorrowingExecutor(const BorrowingExecutor&) = delete;
  BorrowingExecutor& operator=(const BorrowingExecutor&) = delete;
  /// Nobody may help any more.
  ~BorrowingExecutor() override = default;

  // --- the borrowing thread ---

  void for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) override;
  /// Itself and those who would help now.
  int threads() const noexcept override;

  // --- helpers ---

  /// What the lender called was heeded by one.
  void join() noexcept;
  /// So many of those called will not come.
  void dismiss(int threads) noexcept { called_.fetch_sub(threads, std::memory_order_relaxed); }
  /// After join(): runs blocks until `leave` says so, or there have been none for kPatience.
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
  /// Runs blocks until there are no more; how many.
  std::int64_t run_blocks() noexcept;
  /// The next block that nobody has begun; -1: there is none.
  std::int64_t take() noexcept;
  void run(std::int64_t block) noexcept;
  void wait_for_helpers(std::int64_t blocks, Clock::time_point start) noexcept;
  void do_without_helpers() noexcept;

  static constexpr std::size_t kLine = 64;

  Lender* const lender_;
  bool sharing_ = false;  ///< written by the borrowing thread while nobody else looks
  Clock::duration penalty_{};
  /// Time in for_each(), as one thread would take it, and outside, since it was last decided whether helpers are worth
  /// it.
  Clock::duration inside_{};
  Clock::duration outside_{};
  Clock::time_point last_end_{};
  bool worth_helping_ = false;
  Clock::time_point alone_until_{};
  /// What spinning helpers look at: blocks that nobody has begun. Who lowers it has begun one, and reads the work.
  alignas(kLine) std::atomic<std::int64_t> open_ = 0;
  Work work_;
  /// Blocks that helpers have ended.
  alignas(kLine) std::atomic<std::int32_t> ended_ = 0;
  alignas(kLine) std::atomic<int> present_ = 0;
  std::atomic<int> called_ = 0;        ///< and not here yet
  std::atomic<bool> held_up_ = false;  ///< a helper was, since this was last looked at
};

}  // namespace dragoman::core
