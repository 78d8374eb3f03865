#pragma once

#include "program/command.h"

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <dragoman/core/numbers.h>
#include <dragoman/core/parallel.h>

namespace dragoman::cli {

/// As an option's number is parsed: the library's own conversion takes -1 for 2^64 - 1, " 1" for 1 and 1e400 for
/// infinity. Throws UsageError naming the option.
template <class Number>
Number parse_number(std::string_view option, const std::string& text, const core::NumberRange<Number>& range) {
  const auto number = core::spelled_number<Number>(text);
  if (!number || !range.contains(*number)) throw UsageError(fmt::format("{} '{}': {}", option, text, range.demand()));
  return *number;
}

template <std::integral Number>
Number parse_whole_number(std::string_view option, const std::string& text, Number least, Number most) {
  return parse_number<Number>(option, text, {.least = least, .most = most});
}

using RealRange = core::NumberRange<double>;
using core::kAnyNumber;
using core::kPositive;
using core::kShare;

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
        number = parse_number(option, text, range);
      });
}

inline boost::program_options::typed_value<std::string>* thread_count(int& threads) {
  return whole_number("--threads", threads, 0, core::kMaxThreads)->default_value("0")->value_name("N");
}

/// For the help of --threads.
inline std::string threads_help(std::string_view what) {
  return fmt::format("{}, at most {}; 0: as many as the process may use", what, core::kMaxThreads);
}

}  // namespace dragoman::cli
