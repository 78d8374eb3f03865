#pragma once

#include "command.h"

#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <dragoman/core/parallel.h>

namespace dragoman::cli {

/// Throws a UsageError that names the option and the numbers that it takes, unless `fits`.
template <class Number>
void require_number(bool fits, std::string_view option, Number value, std::string_view expected) {
  if (!fits) throw UsageError(fmt::format("--{} {}: must be {}", option, value, expected));
}

template <class Number>
void require_range(std::string_view option, Number value, std::type_identity_t<Number> least,
                   std::type_identity_t<Number> most) {
  require_number(value >= least && value <= most, option, value, fmt::format("from {} to {}", least, most));
}

template <class Number>
void require_at_least(std::string_view option, Number value, std::type_identity_t<Number> least) {
  require_number(value >= least, option, value, fmt::format("at least {}", least));
}

inline void require_threads(int threads) {
  require_range("threads", threads, 0, core::kMostThreads);
}

/// For the help of --threads.
inline std::string threads_help(std::string_view what) {
  return fmt::format("{}, at most {}; 0: as many as the process may use", what, core::kMostThreads);
}

}  // namespace dragoman::cli
