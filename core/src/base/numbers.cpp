#include "dragoman/core/numbers.h"

#include <charconv>
#include <concepts>
#include <cstdint>
#include <system_error>

#include <fmt/format.h>

namespace dragoman::core {

template <class Number>
std::optional<Number> spelled_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

template <class Number>
std::string NumberRange<Number>::demand() const {
  constexpr Number kLowest = std::numeric_limits<Number>::lowest();
  if constexpr (std::integral<Number>) {
    return fmt::format("must be a whole number from {} to {}", least_included ? least : least + 1, most);
  } else {
    if (least == kLowest) return "must be a finite number";
    std::string bound = fmt::format("must be a number {} {}", least_included ? "of at least" : "above", least);
    if (most == std::numeric_limits<Number>::max()) return bound;
    return fmt::format("{} and {} {}", bound, most_included ? "at most" : "below", most);
  }
}

template std::optional<int> spelled_number(std::string_view text);
template std::optional<std::uint32_t> spelled_number(std::string_view text);
template std::optional<std::int64_t> spelled_number(std::string_view text);
template std::optional<std::uint64_t> spelled_number(std::string_view text);
template std::optional<double> spelled_number(std::string_view text);
template struct NumberRange<int>;
template struct NumberRange<std::uint32_t>;
template struct NumberRange<std::int64_t>;
template struct NumberRange<std::uint64_t>;
template struct NumberRange<double>;

}  // namespace dragoman::core
