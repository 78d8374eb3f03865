#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

/// Numbers that people write. Of int, std::int64_t, std::uint32_t, std::uint64_t and double.
namespace dragoman::core {

/// The number that all of `text` spells, without sign + or spaces around it; nothing if it spells none or one that the
/// type does not hold.
template <class Number>
std::optional<Number> spelled_number(std::string_view text);

/// What numbers something takes. What is not finite is never among them.
template <class Number>
struct NumberRange {
  Number least = 0;
  Number most = std::numeric_limits<Number>::max();
  bool least_included = true;
  bool most_included = true;

  constexpr bool contains(Number number) const {
    // Written so that what is not a number is refused.
    return (number > least || (least_included && number == least)) &&
           (number < most || (most_included && number == most));
  }
  /// "must be a whole number from 1 to 8".
  std::string demand() const;
};

/// A share: above 0 and at most 1.
inline constexpr NumberRange<double> kShare{.least = 0, .most = 1, .least_included = false};
inline constexpr NumberRange<double> kPositive{.least = 0, .least_included = false};
inline constexpr NumberRange<double> kAnyNumber{.least = std::numeric_limits<double>::lowest()};

}  // namespace dragoman::core
