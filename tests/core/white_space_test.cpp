#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include <dragoman/core/white_space.h>

namespace dragoman::core {
namespace {

TEST(WhiteSpace, IsUnicodesProperty) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c)
    ASSERT_EQ(is_white_space(c), u_isUWhiteSpace(static_cast<UChar32>(c)) != 0)
        << std::hex << static_cast<std::uint32_t>(c);
}

TEST(WhiteSpace, IsFoundAtBothEnds) {
  EXPECT_EQ(leading_white_space("\u00A0 a "), 3U);
  EXPECT_EQ(trailing_white_space(" a\u3000\t"), 4U);
  EXPECT_EQ(trim_white_space("\u2003 a \u00A0 b\u0085\v"), "a \u00A0 b");
  EXPECT_EQ(trim_white_space("\u2028 \u205F"), "");
  EXPECT_EQ(trim_white_space("\u200B"), "\u200B") << "a zero width space is none";
}

TEST(WhiteSpace, BytesThatAreNoTextAreNone) {
  for (const char* text : {"\x85", "\xA0", "\xC2", "\xE2\x80", "\x80\x80\x80\x80\x80", "\xC0\xA0", "\xE3\x80"}) {
    EXPECT_EQ(leading_white_space(text), 0U);
    EXPECT_EQ(trailing_white_space(text), 0U);
    EXPECT_FALSE(is_blank(text));
  }
  EXPECT_EQ(trailing_white_space("\x80\u00A0"), 2U);
}

TEST(WhiteSpace, BlankTextsHaveNothingElse) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\u00A0\u3000\u1680\r\n"));
  EXPECT_FALSE(is_blank("\u00A0.\u00A0"));
}

TEST(KeepOnOneLine, TurnsLineBreaksIntoSpaces) {
  std::string text = "one\ntwo\r\nthree";
  keep_on_one_line(text);
  EXPECT_EQ(text, "one two  three");
}

}  // namespace
}  // namespace dragoman::core
