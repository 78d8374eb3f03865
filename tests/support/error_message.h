#pragma once

#include <concepts>
#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::testing {

/// Returns the message of the core::Error that `action` throws, or "no error".
template <std::invocable Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "no error";
}

/// As error_of(), but the test fails if `action` throws nothing or an error with another code.
template <std::invocable Action>
std::string message_of(Action&& action, core::ErrorCode code = core::ErrorCode::kBadInput) {
  try {
    action();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace dragoman::testing
