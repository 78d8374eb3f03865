#pragma once

#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::testing {

/// The message of the core::Error that `action` throws; a test failure if it throws none.
template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const core::Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace dragoman::testing
