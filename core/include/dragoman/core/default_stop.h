#pragma once

#include <stop_token>

namespace dragoman::core {

/// Returns the token of this thread's StopScope (stop_scope.h), otherwise the token given to set_default_stop()
/// (file.h). Waits and searches use it if their caller passes no token. With neither, no stop is ever requested.
const std::stop_token& default_stop() noexcept;

}  // namespace dragoman::core
