#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace dragoman::core {

/// Text from outside as it may be shown to people: one line in which nothing talks to the terminal. Control characters,
/// ill-formed UTF-8 and what turns the direction of writing are escaped (\n, \t, \x1b, \u202e); all else stays. What is
/// longer than `longest` bytes is cut at a character and ends in "...".
std::string printable(std::string_view text, std::size_t longest = std::string_view::npos);

/// The same in single quotes, short: for whatever a file puts into a message.
std::string quote(std::string_view text, std::size_t longest = 120);

/// quote() as an argument of a message that may never be made, such as one of require(): nothing is done until it is
/// formatted.
struct Quoted {
  std::string_view text;
};

}  // namespace dragoman::core

template <>
struct fmt::formatter<dragoman::core::Quoted> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const dragoman::core::Quoted& quoted, Context& context) const {
    return fmt::formatter<std::string_view>::format(dragoman::core::quote(quoted.text), context);
  }
};
