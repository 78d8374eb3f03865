#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

/// Parsing and range checks of numbers in text: int, std::int64_t, std::uint32_t, std::uint64_t and double.
namespace dragoman::core {

/// Returns the number that `text` spells, or nullopt if the text is not a number or the type cannot represent it. A
/// leading '+' and spaces at either end are not allowed.
///
///     const int beam_size = spelled_number<int>("5").value();
template <class Number>
std::optional<Number> spelled_number(std::string_view text);

/// A range of permitted numbers. Infinities and NaN are never permitted.
template <class Number>
struct NumberRange {
  Number least = 0;
  Number most = std::numeric_limits<Number>::max();
  bool least_included = true;
  bool most_included = true;

  constexpr bool contains(Number number) const {
    // This form rejects NaN, for which all comparisons are false.
    return (number > least || (least_included && number == least)) &&
           (number < most || (most_included && number == most));
  }
  /// Returns the requirement for error messages: "must be a whole number from 1 to 8".
  std::string demand() const;
};

/// A fraction: above 0 and at most 1.
inline constexpr NumberRange<double> kShare{.least = 0, .most = 1, .least_included = false};
inline constexpr NumberRange<double> kPositive{.least = 0, .least_included = false};
inline constexpr NumberRange<double> kAnyNumber{.least = std::numeric_limits<double>::lowest()};

}  // namespace dragoman::core
