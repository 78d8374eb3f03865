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

/// Parses the number of an option. The conversion of the library would accept -1 as 2^64 - 1, " 1" as 1 and 1e400 as
/// infinity. UsageError naming the option.
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

/// Creates an option whose value is an integer. It is stored in `number` (a variable or an std::optional) when options
/// are read. It is bound as text, so that parse_number() reads it.
template <std::integral Number, class Target>
boost::program_options::typed_value<std::string>* whole_number(std::string option, Target& number, Number least,
                                                               Number most = std::numeric_limits<Number>::max()) {
  return boost::program_options::value<std::string>()->notifier(
      [option = std::move(option), &number, least, most](const std::string& text) {
        number = parse_whole_number<Number>(option, text, least, most);
      });
}

/// As whole_number(), for a real number.
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

/// Returns the help of --threads.
inline std::string threads_help(std::string_view what) {
  return fmt::format("{}, at most {}; 0: all cores that the process may use", what, core::kMaxThreads);
}

}  // namespace dragoman::cli
