#include <gtest/gtest.h>

#include <dragoman/core/ascii.h>

namespace dragoman::core {
namespace {

TEST(Ascii, OnlyItsLettersChange) {
  EXPECT_EQ(ascii_lower("AZ[@ Ärger 09"), "az[@ Ärger 09");
  EXPECT_EQ(ascii_upper("az{` ärger 09"), "AZ{` äRGER 09");
  EXPECT_TRUE(equal_ignoring_ascii_case("Content-Type", "content-TYPE"));
  EXPECT_FALSE(equal_ignoring_ascii_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_ascii_case("@", "`"));
}

TEST(Ascii, HexadecimalDigitsHaveValues) {
  EXPECT_EQ(hex_digit('0'), 0);
  EXPECT_EQ(hex_digit('f'), 15);
  EXPECT_EQ(hex_digit('A'), 10);
  for (const char c : {'g', 'G', '/', ':', '@', '`', '\xe4'}) EXPECT_EQ(hex_digit(c), -1);
}

}  // namespace
}  // namespace dragoman::core
