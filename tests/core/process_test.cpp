#include <thread>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/process.h>

namespace dragoman::core {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> shell(const std::string& line) {
  return {"/bin/sh", "-c", line};
}

TEST(RunProcess, GivesWhatAProgramSaysAndItsStatus) {
  const ProcessOutcome outcome = run_process({.arguments = shell("echo out; echo err >&2; exit 3")});
  EXPECT_EQ(outcome.output, "out\n");
  EXPECT_EQ(outcome.errors, "err\n");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_FALSE(outcome.timed_out);
}

TEST(RunProcess, HandsArgumentsOnAsTheyAre) {
  const std::string odd = "a 'b' \"c\" $HOME *";
  EXPECT_EQ(run_process({.arguments = {"printf", "%s", odd}}).output, odd);
  EXPECT_EQ(run_process({.arguments = shell("printf %s " + quote_for_shell(odd))}).output, odd);
}

TEST(RunProcess, AnInputIsEmptyAndAnAbsentProgramHasTheStatusOfAShell) {
  EXPECT_EQ(run_process({.arguments = {"cat"}}).output, "");
  EXPECT_EQ(run_process({.arguments = {"no-such-program-at-all"}}).status, 127);
  EXPECT_EQ(run_process({.arguments = shell("kill -9 $$")}).status, 128 + 9);
}

TEST(RunProcess, TakesMuchOutputAndKeepsAsMuchAsWasAsked) {
  const ProcessOutcome outcome =
      run_process({.arguments = shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo end >&2"),
                   .most_output = 1000});
  EXPECT_EQ(outcome.output.size(), 1000U);
  EXPECT_EQ(outcome.errors.size(), 1000U);
  EXPECT_TRUE(outcome.errors.ends_with("end\n"));
}

TEST(RunProcess, EndsWhatRunsForTooLongAndWhatItHasStarted) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(run_process({.arguments = shell("sleep 60 & sleep 60"), .timeout = 100ms}).timed_out);
  const ProcessOutcome left = run_process({.arguments = shell("sleep 60 & echo done")});
  EXPECT_EQ(left.output, "done\n");
  EXPECT_FALSE(left.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(RunProcess, WhatItLeavesRunningIsNotWaitedForWhateverItHolds) {
  for (const char* held : {"sleep 60 &", "sleep 60 >/dev/null &", "sleep 60 2>/dev/null &"}) {
    const ProcessOutcome outcome = run_process({.arguments = shell(std::string(held) + " echo 38.2"), .timeout = 20s});
    EXPECT_FALSE(outcome.timed_out) << held;
    EXPECT_EQ(outcome.output, "38.2\n") << held;
  }
}

/// Which leaves its group of processes, so that it cannot be killed, or never stops writing.
TEST(RunProcess, WhatHasLeftItsGroupIsNotWaitedForEither) {
  for (const char* held : {"setsid sleep 30 &", "setsid sh -c 'sleep 30' >/dev/null &",
                           "setsid timeout 10 sh -c 'while :; do echo more >&2; done' &"}) {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessOutcome outcome = run_process({.arguments = shell(std::string(held) + " echo 38.2"), .timeout = 20s});
    EXPECT_FALSE(outcome.timed_out) << held;
    EXPECT_EQ(outcome.output, "38.2\n") << held;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << held;
  }
}

TEST(RunProcess, AStopRequestEndsIt) {
  std::stop_source source;
  const std::jthread other([&] {
    std::this_thread::sleep_for(50ms);
    source.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(run_process({.arguments = {"sleep", "60"}, .stop = source.get_token()}), Error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
}  // namespace dragoman::core
