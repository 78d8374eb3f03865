#pragma once

#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/quote.h>

namespace dragoman::cli {

/// Prints a line of a table of labels and values. Text from a file must neither control the terminal nor fill it.
inline void print_row(std::string_view label, std::string_view value) {
  constexpr std::size_t kLongestLabel = 100;
  constexpr std::size_t kLongestValue = 1000;
  fmt::print("  {:<22}  {}\n", core::printable(label, kLongestLabel), core::printable(value, kLongestValue));
}

}  // namespace dragoman::cli
