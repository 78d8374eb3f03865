#pragma once

#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::testing {

/// The message of the Error{kBadInput} that `action` throws; a test failure if it throws none, or one of another kind.
template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kBadInput) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace dragoman::testing
