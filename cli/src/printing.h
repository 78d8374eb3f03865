#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/options.h>

namespace dragoman::cli {

/// Text from a file must not talk to the terminal.
inline std::string printable(std::string_view text) {
  const std::string escaped = core::Json(text).dump(-1, ' ', false, core::Json::error_handler_t::replace);
  return escaped.substr(1, escaped.size() - 2);
}

/// A line of a table of labels and values.
inline void print_row(std::string_view label, std::string_view value) {
  fmt::print("  {:<24}{}\n", label, value);
}

}  // namespace dragoman::cli
