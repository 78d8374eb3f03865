#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace dragoman::core {

/// Returns text from outside in a form that is safe to print: one line that cannot control the terminal. Control
/// characters, ill-formed UTF-8 and characters that change the writing direction are escaped (\n, \t, \x1b, \u202e);
/// all others are kept. Text of more than `longest` bytes is cut at a character boundary and ends in "...".
std::string printable(std::string_view text, std::size_t longest = std::string_view::npos);

/// Returns the printable() text, shortened and in single quotes, for values from files in messages.
std::string quote(std::string_view text, std::size_t longest = 120);

/// An argument of require() and other messages that are rarely formatted. quote() is called only when the message is.
///
///     const std::string key = "beam\nsize";
///     require(key == "beam_size", ErrorCode::kBadInput, "unknown key {}", Quoted{key});     // error.h
///
/// The text must live until the message is formatted.
struct Quoted {
  std::string_view text;
};

}  // namespace dragoman::core

template <>
struct fmt::formatter<dragoman::core::Quoted> {
  static constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  /// Defined in the header because the shared library does not export names of the namespace fmt.
  static fmt::format_context::iterator format(const dragoman::core::Quoted& quoted, fmt::format_context& context) {
    // Not format_to(): clang 14 without optimisation needs a symbol of libfmt that is named differently in the library
    // built by GCC.
    const std::string text = dragoman::core::quote(quoted.text);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
