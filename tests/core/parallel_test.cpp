#include "no_more_threads.h"
#include "test_names.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>

namespace dragoman::core {
namespace {

class ExecutorTest : public ::testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Executor> executor_ = make_executor(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Threads, ExecutorTest, ::testing::Values(1, 2, 3, 8), dragoman::testing::kParameterName);

TEST_P(ExecutorTest, RunsEveryBlockOnce) {
  EXPECT_EQ(executor_->threads(), GetParam());
  for (const std::int64_t blocks : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(blocks));
    executor_->for_each(blocks, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST_P(ExecutorTest, HandsAnExceptionToTheCallerAndGoesOn) {
  const auto run = [&] {
    executor_->for_each(100, [](std::int64_t i) {
      if (i == 37) fail(ErrorCode::kBadInput, "block {}", i);
    });
  };
  try {
    run();
    FAIL() << "the exception was lost";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "block 37");
  }
  std::atomic<int> count = 0;
  executor_->for_each(10, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count, 10);
}

TEST_P(ExecutorTest, MayBeUsedFromWithinABlock) {
  std::atomic<int> count = 0;
  executor_->for_each(4, [&](std::int64_t) { executor_->for_each(5, [&](std::int64_t) { ++count; }); });
  EXPECT_EQ(count, 20);
}

TEST_P(ExecutorTest, ASumOfBlocksHasTheSameBits) {
  std::vector<float> values;
  for (int i = 0; i < 100000; ++i) values.push_back(1.0F / static_cast<float>(1 + i));
  const auto sum_with = [&](Executor& executor) {
    std::vector<float> partial(100, 0);
    for_each_range(executor, 100000, 1000, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        partial[static_cast<std::size_t>(begin / 1000)] += values[static_cast<std::size_t>(i)];
    });
    float sum = 0;
    for (const float part : partial) sum += part;
    return sum;
  };
  SequentialExecutor sequential;
  EXPECT_EQ(sum_with(*executor_), sum_with(sequential));
}

TEST_P(ExecutorTest, CanBeSharedByThreads) {
  std::atomic<int> count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { executor_->for_each(50, [&](std::int64_t) { ++count; }); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 150);
}

TEST(ParallelExecutor, HasFewerThreadsWhereTheSystemRefusesThem) {
  const testing::NoMoreThreads refused;
  ParallelExecutor executor(8);
  EXPECT_EQ(executor.threads(), 1);
  std::atomic<int> count = 0;
  executor.for_each(100, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count, 100);
}

TEST(StartThread, SaysWhatTheThreadWasFor) {
  const testing::NoMoreThreads refused;
  EXPECT_FALSE(try_start_thread([] {}).has_value());
  try {
    start_thread("writes", [] {});
    FAIL() << "a thread was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("a thread that writes"), std::string::npos) << error.what();
  }
}

TEST(ThreadCount, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(thread_count(3), 3);
  EXPECT_EQ(thread_count(0), default_threads());
  EXPECT_EQ(thread_count(kMaxThreads), kMaxThreads);
  EXPECT_THROW(thread_count(-1), Error);
  EXPECT_THROW(thread_count(kMaxThreads + 1), Error);
  EXPECT_THROW(make_executor(100000), Error);
}

TEST(ForEachRange, CoversTheCountInOrderedRanges) {
  SequentialExecutor executor;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for_each_range(executor, 10, 4, [&](std::int64_t begin, std::int64_t end) { ranges.emplace_back(begin, end); });
  EXPECT_EQ(ranges, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 4}, {4, 8}, {8, 10}}));
  for_each_range(executor, 0, 4, [&](std::int64_t, std::int64_t) { FAIL() << "nothing to cover"; });
}

TEST(MakeExecutor, RefusesNegativeCountsAndKnowsADefault) {
  EXPECT_THROW(make_executor(-1), Error);
  EXPECT_THROW(ParallelExecutor(0), Error);
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  EXPECT_EQ(make_executor(0)->threads(), default_threads());
}

TEST(FunctionRef, CallsTheCallableItself) {
  int calls = 0;
  auto count = [&](int by) { return calls += by; };
  const FunctionRef<int(int)> reference = count;
  EXPECT_EQ(reference(2), 2);
  EXPECT_EQ(reference(3), 5);
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace dragoman::core
