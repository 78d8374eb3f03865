#pragma once

#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::testing {

/// Calls `action` with the token of a stop that is requested `after` its beginning. Expects Error{kInterrupted} within
/// two seconds: the aim is a tenth of one, and the machine may be busy.
template <class Action>
void expect_stops(Action&& action, std::chrono::milliseconds after = std::chrono::milliseconds(200)) {
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
  try {
    std::forward<Action>(action)(stop.get_token());
    ADD_FAILURE() << "it came to its end";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted) << error.what();
  }
  if (requests.joinable()) requests.join();
  EXPECT_LT(Clock::now() - requested, std::chrono::seconds(2));
}

}  // namespace dragoman::testing
