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
INSTANTIATE_TEST_SUITE_P(Threads, InOrderTest, ::testing::Values(1, 2, 5));

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
