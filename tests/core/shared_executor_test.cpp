#include "dragoman/core/shared_executor.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::core {
namespace {

using namespace std::chrono_literals;

/// Threads that do nothing but help.
class Helpers final : public ThreadLender {
 public:
  explicit Helpers(int count) : count_(count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { serve(); });
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wanted_.notify_all();
    threads_.clear();
  }

  int idle() const noexcept override { return count_; }
  void call(SharedExecutor& borrower, int threads) noexcept override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    borrower_ = &borrower;
    open_ += threads;
    wanted_.notify_all();
  }
  int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [&] { return closing_ || open_ > 0; });
      if (closing_) return;
      --open_;
      SharedExecutor& borrower = *borrower_;
      borrower.join();
      lock.unlock();
      borrower.help([this] { return closing_.load(); });
      lock.lock();
    }
  }

  const int count_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  SharedExecutor* borrower_ = nullptr;
  int open_ = 0;
  int calls_ = 0;
  std::atomic<bool> closing_ = false;
  std::vector<std::jthread> threads_;
};

struct Crew {
  explicit Crew(int helpers) : lender(helpers) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() { lender.close(); }

  Helpers lender;
  SharedExecutor executor{&lender};
};

/// Waits until somebody else runs blocks: until then the borrower does all of them itself.
void wait_for_help(SharedExecutor& executor) {
  const auto self = std::this_thread::get_id();
  for (std::atomic<bool> helped = false; !helped;)
    executor.for_each(4, [&](std::int64_t) {
      if (std::this_thread::get_id() != self) helped = true;
      for (const auto end = std::chrono::steady_clock::now() + 20us; std::chrono::steady_clock::now() < end;) {
      }
    });
}

TEST(SharedExecutor, RunsEveryBlockOnceWhoeverHelps) {
  for (const int helpers : {0, 1, 3}) {
    Crew crew(helpers);
    SharedExecutor& executor = crew.executor;
    EXPECT_EQ(executor.threads(), 1 + helpers);
    if (helpers > 0) wait_for_help(executor);
    std::vector<std::int64_t> runs(50);
    // One kernel after the other, as in a step: each sees what the last one left.
    for (std::int64_t job = 0; job < 5000; ++job)
      executor.for_each(job % 50, [&](std::int64_t i) { runs[static_cast<std::size_t>(i)] += job; });
    for (std::int64_t i = 0; i < 50; ++i) {
      std::int64_t expected = 0;
      for (std::int64_t job = 0; job < 5000; ++job) expected += i < job % 50 ? job : 0;
      EXPECT_EQ(runs[static_cast<std::size_t>(i)], expected);
    }
  }
}

TEST(SharedExecutor, SharesItsBlocks) {
  Crew crew(2);
  SharedExecutor& executor = crew.executor;
  wait_for_help(executor);  // does not end otherwise
  EXPECT_GE(crew.lender.calls(), 1);
}

TEST(SharedExecutor, WithoutALenderItIsOneThread) {
  SharedExecutor executor(nullptr);
  EXPECT_EQ(executor.threads(), 1);
  int runs = 0;
  executor.for_each(5, [&](std::int64_t) { ++runs; });
  EXPECT_EQ(runs, 5);
}

TEST(SharedExecutor, HandsAnExceptionToTheCallerAndGoesOn) {
  Crew crew(2);
  SharedExecutor& executor = crew.executor;
  wait_for_help(executor);
  for (int round = 0; round < 200; ++round)
    EXPECT_THROW(executor.for_each(40, [](std::int64_t i) { require(i != 7, ErrorCode::kBadInput, "block {}", i); }),
                 Error);
  std::atomic<int> count = 0;
  executor.for_each(10, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count, 10);
}

TEST(SharedExecutor, ABlockMayHaveBlocks) {
  Crew crew(2);
  SharedExecutor& executor = crew.executor;
  std::atomic<int> count = 0;
  for (int round = 0; round < 200; ++round)
    executor.for_each(4, [&](std::int64_t) { executor.for_each(5, [&](std::int64_t) { ++count; }); });
  EXPECT_EQ(count, 200 * 20);
}

TEST(SharedExecutor, CallsNobodyForALittleWorkAmongOther) {
  Crew crew(2);
  SharedExecutor& executor = crew.executor;
  for (int step = 0; step < 200; ++step) {
    executor.for_each(4, [](std::int64_t) {});
    for (const auto end = std::chrono::steady_clock::now() + 20us; std::chrono::steady_clock::now() < end;) {
    }
  }
  EXPECT_EQ(crew.lender.calls(), 0);
}

double processor_seconds() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(SharedExecutor, HelpersDoNotSpinWhenNobodyWants) {
  Crew crew(3);
  SharedExecutor& executor = crew.executor;
  wait_for_help(executor);
  std::this_thread::sleep_for(10ms);  // far longer than kPatience
  const double before = processor_seconds();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(processor_seconds() - before, 0.05);
  // And they come again.
  const int calls = crew.lender.calls();
  wait_for_help(executor);
  EXPECT_GT(crew.lender.calls(), calls);
}

/// As when the operating system gives a helper's core to another process. On a busy machine that may happen to this
/// thread instead, so it is tried until it shows.
TEST(SharedExecutor, DoesWithoutHelpersThatAreHeldUp) {
  Crew crew(1);
  SharedExecutor& executor = crew.executor;
  const auto self = std::this_thread::get_id();
  wait_for_help(executor);
  const auto end = std::chrono::steady_clock::now() + 60s;
  const auto in_time = [end] { return std::chrono::steady_clock::now() < end; };
  while (executor.threads() == 2 && in_time()) {
    std::atomic<int> blocks = 0;
    executor.for_each(2, [&](std::int64_t) {
      ++blocks;
      // The helper has time to find the other block, and holds it long.
      std::this_thread::sleep_for(std::this_thread::get_id() == self ? 100us : 20ms);
    });
    ASSERT_EQ(blocks, 2) << "each block runs once, with a helper or without";
  }
  EXPECT_EQ(executor.threads(), 1) << "a helper that is held up was still waited for";
  // But not for ever.
  while (executor.threads() == 1 && in_time()) {
    std::this_thread::sleep_for(10ms);
    executor.for_each(1, [](std::int64_t) {});
  }
  EXPECT_EQ(executor.threads(), 2) << "the helper was never asked again";
}

}  // namespace
}  // namespace dragoman::core
