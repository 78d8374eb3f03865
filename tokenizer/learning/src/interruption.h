#pragma once

#include <stop_token>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

/// Throws Error{kInterrupted} if `stop` is requested.
inline void check_not_stopped(const std::stop_token& stop) {
  if (stop.stop_requested())
    core::fail(core::ErrorCode::kInterrupted, "interrupted while learning pieces; nothing was written");
}

}  // namespace dragoman::tokenizer
