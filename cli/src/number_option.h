#pragma once

#include "command.h"

#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <dragoman/core/parallel.h>

namespace dragoman::cli {

/// The number that all of `text` spells; nothing if it spells none or one that the type does not hold.
template <class Number>
std::optional<Number> spelled_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// As an option's number is parsed: the library's own conversion takes -1 for 2^64 - 1, " 1" for 1 and 1e400 for
/// infinity. Throws UsageError naming the option.
template <std::integral Number>
Number parse_whole_number(std::string_view option, const std::string& text, Number least, Number most) {
  const auto number = spelled_number<Number>(text);
  if (!number || *number < least || *number > most)
    throw UsageError(fmt::format("{} '{}': must be a whole number from {} to {}", option, text, least, most));
  return *number;
}

/// What real numbers an option takes.
struct RealRange {
  double least;
  double most = std::numeric_limits<double>::max();
  bool least_included = true;
};

/// A share: above 0 and at most 1.
inline constexpr RealRange kShare{.least = 0, .most = 1, .least_included = false};
inline constexpr RealRange kPositive{.least = 0, .least_included = false};
inline constexpr RealRange kAnyNumber{.least = std::numeric_limits<double>::lowest()};

inline double parse_real_number(std::string_view option, const std::string& text, const RealRange& range) {
  const auto number = spelled_number<double>(text);
  // Written so that what is not a number is refused.
  if (number && (*number > range.least || (range.least_included && *number == range.least)) && *number <= range.most)
    return *number;
  if (range.least == kAnyNumber.least) throw UsageError(fmt::format("{} '{}': must be a finite number", option, text));
  std::string bounds = fmt::format("{} {}", range.least_included ? "of at least" : "above", range.least);
  if (range.most < std::numeric_limits<double>::max()) bounds += fmt::format(" and at most {}", range.most);
  throw UsageError(fmt::format("{} '{}': must be a number {}", option, text, bounds));
}

/// The value of an option that is a whole number. It goes into `number` (a variable, or an optional one) when options
/// are read; bound as text, so that it is read as parse_whole_number() does.
template <std::integral Number, class Target>
boost::program_options::typed_value<std::string>* whole_number(std::string option, Target& number, Number least,
                                                               Number most = std::numeric_limits<Number>::max()) {
  return boost::program_options::value<std::string>()->notifier(
      [option = std::move(option), &number, least, most](const std::string& text) {
        number = parse_whole_number<Number>(option, text, least, most);
      });
}

/// The same of a real number.
template <class Target>
boost::program_options::typed_value<std::string>* real_number(std::string option, Target& number, RealRange range) {
  return boost::program_options::value<std::string>()->notifier(
      [option = std::move(option), &number, range](const std::string& text) {
        number = parse_real_number(option, text, range);
      });
}

inline boost::program_options::typed_value<std::string>* thread_count(int& threads) {
  return whole_number("--threads", threads, 0, core::kMostThreads)->default_value("0")->value_name("N");
}

/// For the help of --threads.
inline std::string threads_help(std::string_view what) {
  return fmt::format("{}, at most {}; 0: as many as the process may use", what, core::kMostThreads);
}

}  // namespace dragoman::cli
