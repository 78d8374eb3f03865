#include "test_names.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/in_order.h>
#include <dragoman/core/run_stop.h>

namespace dragoman::core {
namespace {

class InOrderTest : public ::testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Executor> executor_ = make_executor(GetParam());
  RunStop stop_{std::stop_token()};

  /// Waits for what never comes, until the run is stopped.
  std::optional<int> wait_for_stop() {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, stop_.token(), [] { return false; });
    return std::nullopt;
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, InOrderTest, ::testing::Values(1, 2, 5), dragoman::testing::kParameterName);

TEST_P(InOrderTest, WritesInTheOrderOfReadingWhateverTheTimeOfAnItem) {
  int next = 0;
  std::vector<int> written;
  const auto read = [&] { return next == 500 ? std::nullopt : std::optional(next++); };
  const auto process = [](int item) {
    if (item % 7 == 0) std::this_thread::yield();
    return 2 * item;
  };
  const auto write = [&](int result) {
    written.push_back(result);
    return true;
  };
  process_in_order<int, int>(*executor_, stop_.source(), read, process, write);
  ASSERT_EQ(written.size(), 500U);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(written[static_cast<std::size_t>(i)], 2 * i);
  EXPECT_FALSE(stop_.token().stop_requested());
}

TEST_P(InOrderTest, BoundsWhatIsUnderWay) {
  std::atomic<int> under_way = 0;
  std::atomic<int> most = 0;
  int next = 0;
  const auto read = [&]() -> std::optional<int> {
    if (next == 300) return std::nullopt;
    most = std::max(most.load(), ++under_way);
    return next++;
  };
  const auto write = [&](int) {
    --under_way;
    return true;
  };
  process_in_order<int, int>(
      *executor_, stop_.source(), read, [](int item) { return item; }, write);
  EXPECT_LE(most, 2 * GetParam());
}

TEST_P(InOrderTest, AnErrorEndsAReadThatWaits) {
  int next = 0;
  const auto read = [&] { return next == 1 ? wait_for_stop() : std::optional(next++); };
  const auto write = [](int) -> bool { throw Error(ErrorCode::kIo, "disk full"); };
  try {
    process_in_order<int, int>(
        *executor_, stop_.source(), read, [](int item) { return item; }, write);
    FAIL() << "the error was lost";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "disk full");
  }
}

TEST_P(InOrderTest, AReadThatFailedIsNotTriedAgain) {
  for (int round = 0; round < 2000; ++round) {
    int reads = 0;
    const auto read = [&]() -> std::optional<int> {
      if (++reads < 3) return reads;
      throw std::runtime_error("read " + std::to_string(reads));
    };
    const auto process = [](int item) { return item; };
    const auto write = [](int) { return true; };
    try {
      process_in_order<int, int>(*executor_, stop_.source(), read, process, write);
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {
      ASSERT_STREQ(error.what(), "read 3");
    }
    ASSERT_EQ(reads, 3);
  }
}

TEST_P(InOrderTest, AnErrorOfProcessingReachesTheCallerAndIsWrittenNeither) {
  int next = 0;
  std::vector<int> written;
  const auto read = [&]() -> std::optional<int> { return next++; };
  const auto process = [](int item) {
    if (item == 20) throw std::runtime_error("item 20");
    return item;
  };
  const auto write = [&](int result) {
    written.push_back(result);
    return true;
  };
  EXPECT_THROW((process_in_order<int, int>(*executor_, stop_.source(), read, process, write)), std::runtime_error);
  ASSERT_LE(written.size(), 20U);
  for (std::size_t i = 0; i < written.size(); ++i) EXPECT_EQ(written[i], static_cast<int>(i));
  EXPECT_TRUE(stop_.token().stop_requested());
}

TEST_P(InOrderTest, ResultsAreWrittenWhileReadingWaits) {
  if (executor_->threads() == 1) GTEST_SKIP() << "one thread does one thing after the other";
  std::mutex mutex;
  std::condition_variable changed;
  int next = 0;
  int written = 0;
  const auto read = [&]() -> std::optional<int> {
    std::unique_lock lock(mutex);
    // The input goes on when the answer to what was read has come, as with someone at a terminal.
    if (!changed.wait_for(lock, std::chrono::seconds(30), [&] { return written == next; })) return std::nullopt;
    return next == 50 ? std::nullopt : std::optional(next++);
  };
  const auto process = [](int item) { return item; };
  const auto write = [&](int) {
    const std::lock_guard lock(mutex);
    ++written;
    changed.notify_all();
    return true;
  };
  process_in_order<int, int>(*executor_, stop_.source(), read, process, write);
  EXPECT_EQ(written, 50);
}

TEST_P(InOrderTest, AWriterThatTakesNoMoreEndsTheRunWithoutAnError) {
  int written = 0;
  const auto read = [] { return std::optional(1); };
  const auto write = [&](int) { return ++written < 10; };
  process_in_order<int, int>(
      *executor_, stop_.source(), read, [](int item) { return item; }, write);
  EXPECT_EQ(written, 10);
  EXPECT_TRUE(stop_.token().stop_requested());
}

TEST(RunStop, ForwardsTheCallersRequestAndNotItsOwn) {
  std::stop_source caller;
  const RunStop own(caller.get_token());
  const RunStop failed(caller.get_token());
  std::stop_source(failed.source()).request_stop();
  EXPECT_FALSE(caller.stop_requested());
  EXPECT_FALSE(own.token().stop_requested());
  caller.request_stop();
  EXPECT_TRUE(own.token().stop_requested());
}

}  // namespace
}  // namespace dragoman::core
