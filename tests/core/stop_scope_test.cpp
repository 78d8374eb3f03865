#include "dragoman/core/stop_scope.h"

#include "error_message.h"

#include <thread>

#include <gtest/gtest.h>

#include <dragoman/core/default_stop.h>
#include <dragoman/core/file.h>

namespace dragoman::core {
namespace {

using testing::error_of;
using testing::message_of;

std::stop_token requested() {
  std::stop_source stop;
  stop.request_stop();
  return stop.get_token();
}

std::string checked() {
  return error_of([] { check_stop("counting"); });
}

TEST(StopScope, StopsTheWorkOfItsThread) {
  EXPECT_EQ(checked(), "no error");
  {
    std::stop_source stop;
    const StopScope scope(stop.get_token());
    EXPECT_EQ(checked(), "no error");
    stop.request_stop();
    EXPECT_EQ(message_of([] { check_stop("counting"); }, ErrorCode::kInterrupted), "interrupted while counting");
    std::jthread([] { EXPECT_EQ(checked(), "no error"); }).join();
    std::jthread([token = StopScope::current()] {
      const StopScope in_thread(token);
      EXPECT_NE(checked(), "no error");
    }).join();
  }
  EXPECT_EQ(checked(), "no error");
  EXPECT_FALSE(StopScope::current().stop_possible());
}

TEST(StopScope, AnInnerScopeCountsUnlessItsTokenIsEmpty) {
  const StopScope outer(requested());
  {
    const StopScope empty({});
    EXPECT_NE(checked(), "no error");
    std::stop_source stop;
    const StopScope inner(stop.get_token());
    EXPECT_EQ(checked(), "no error");
  }
  EXPECT_NE(checked(), "no error");
}

TEST(StopScope, ItsTokenIsTheDefaultOfWaits) {
  set_default_stop(requested());
  EXPECT_TRUE(default_stop().stop_requested());
  EXPECT_EQ(checked(), "no error") << "an interrupted program saves its work";
  {
    std::stop_source stop;
    const StopScope scope(stop.get_token());
    EXPECT_FALSE(default_stop().stop_requested());
  }
  EXPECT_TRUE(default_stop().stop_requested());
  set_default_stop({});
}

TEST(StopCheck, LooksAfterSomeSteps) {
  const StopScope scope(requested());
  StopCheck check("counting");
  const auto count = [&](std::size_t calls, std::size_t steps) {
    for (std::size_t i = 0; i < calls; ++i) check(steps);
  };
  EXPECT_EQ(error_of([&] { count(1000, 1); }), "no error");
  EXPECT_EQ(error_of([&] { count(1000, 1000); }), "interrupted while counting");
  EXPECT_EQ(error_of([&] { count(1, std::size_t{1} << 40); }), "interrupted while counting");
}

/// A stop while a file is written leaves none.
TEST(StopScope, EndsTheWritingOfAFile) {
  const testing::TemporaryFolder folder;
  for (const bool in_commit : {false, true}) {
    std::stop_source stop;
    const StopScope scope(stop.get_token());
    EXPECT_EQ(message_of(
                  [&] {
                    OutputFile file(folder / "file", {.partial = PartialPolicy::kTemporary});
                    if (in_commit) file.write(std::string(1 << 24, 'x'));
                    stop.request_stop();
                    if (!in_commit) file.write(std::string(1 << 24, 'x'));
                    file.commit();
                  },
                  ErrorCode::kInterrupted),
              "interrupted while writing a file");
    EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
  }
}

}  // namespace
}  // namespace dragoman::core
