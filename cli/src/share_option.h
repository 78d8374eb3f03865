#pragma once

#include "command.h"

#include <cstddef>
#include <stdexcept>
#include <string>

namespace dragoman::cli {

/// The value of an option that is a share. Such options are bound as texts, so that the help shows 1 and not
/// 1.0000000000000000.
inline double parse_share(const std::string& option, const std::string& text) {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used == text.size()) return value;
  } catch (const std::logic_error&) {
  }
  throw UsageError(option + " " + text + ": must be a number above 0 and at most 1");
}

}  // namespace dragoman::cli
