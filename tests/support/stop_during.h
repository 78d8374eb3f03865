#pragma once

#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::testing {

/// Calls `action` with the token of a stop that is requested `after` its beginning. Returns whether it threw
/// Error{kInterrupted}, which it must within two seconds: the aim is a tenth of one, and the machine may be busy.
template <class Action>
bool stops(Action& action, std::chrono::milliseconds after) {
  using Clock = std::chrono::steady_clock;
  std::stop_source stop;
  Clock::time_point requested = Clock::now();
  std::jthread requests;
  if (after.count() == 0)
    stop.request_stop();
  else
    requests = std::jthread([&] {
      std::this_thread::sleep_for(after);
      requested = Clock::now();
      stop.request_stop();
    });
  bool stopped = false;
  try {
    action(stop.get_token());
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted) << error.what();
    stopped = true;
  }
  const Clock::time_point ended = Clock::now();
  if (requests.joinable()) requests.join();
  EXPECT_LT(ended - requested, std::chrono::seconds(2));
  return stopped;
}

/// Expects that `action` stops. On a machine where it ends before the stop is requested, it is requested earlier.
template <class Action>
void expect_stops(Action&& action, std::chrono::milliseconds after = std::chrono::milliseconds(200)) {
  for (;; after /= 2) {
    if (stops(action, after) || ::testing::Test::HasFailure()) return;
    if (after.count() == 0) {
      ADD_FAILURE() << "it came to its end";
      return;
    }
  }
}

}  // namespace dragoman::testing
