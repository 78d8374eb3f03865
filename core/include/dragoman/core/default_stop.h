#pragma once

#include <stop_token>

namespace dragoman::core {

/// Returns the token given to set_default_stop() (file.h). Long computations use it if their caller passes no token. If
/// set_default_stop() was not called, no stop is ever requested.
const std::stop_token& default_stop() noexcept;

}  // namespace dragoman::core
