#pragma once

#include <stop_token>

namespace dragoman::core {

/// Returns the stop that set_default_stop() (file.h) was given, for long computations whose callers pass none. Without
/// one it is never requested.
const std::stop_token& default_stop() noexcept;

}  // namespace dragoman::core
