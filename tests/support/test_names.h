#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

namespace dragoman::testing {

/// Returns a text as part of a test's name: every run of characters other than letters and digits becomes one '_'.
inline std::string as_test_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "empty" : name;
}

/// The last argument of INSTANTIATE_TEST_SUITE_P. It names a test by its parameter: a text, an integer, or a struct
/// with a function `std::string test_name(const Parameter&)` in its namespace. Without it, the list of tests shows
/// bytes and addresses of the parameter.
struct ParameterName {
  template <class Parameter>
  std::string operator()(const ::testing::TestParamInfo<Parameter>& info) const {
    if constexpr (std::is_convertible_v<Parameter, std::string_view>)
      return as_test_name(info.param);
    else if constexpr (std::is_integral_v<Parameter>)
      return std::to_string(info.param);
    else
      return as_test_name(test_name(info.param));
  }
};
inline constexpr ParameterName kParameterName{};

}  // namespace dragoman::testing
