#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

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
struct fmt::formatter<dragoman::core::Quoted> {
  static constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  /// Here and not in a source, since its name lies outside of what the shared library exports.
  static fmt::format_context::iterator format(const dragoman::core::Quoted& quoted, fmt::format_context& context) {
    // Not format_to(), for which clang (14, without optimisation) wants a function of libfmt under another name than
    // GCC's.
    const std::string text = dragoman::core::quote(quoted.text);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
