#include <gtest/gtest.h>

#include <dragoman/core/utf8.h>

namespace dragoman::core {
namespace {

std::string repaired(std::string text) {
  replace_invalid_utf8(text);
  return text;
}

const std::string kR = "\xEF\xBF\xBD";  // U+FFFD

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, code_point);
    const DecodedCharacter decoded = decode_utf8(text, 0);
    ASSERT_TRUE(decoded.valid) << std::hex << static_cast<std::uint32_t>(code_point);
    ASSERT_EQ(decoded.code_point, code_point);
    ASSERT_EQ(decoded.length, text.size());
    ASSERT_EQ(utf8_length(static_cast<unsigned char>(text[0])), text.size());
  }
}

TEST(Utf8, WritesThePublishedEncodings) {
  // RFC 3629, section 7.
  std::string text;
  for (const char32_t code_point : {0x41, 0x2262, 0x391, 0x2E, 0xD55C, 0x65E5, 0x233B4}) append_utf8(text, code_point);
  EXPECT_EQ(text, "A\xE2\x89\xA2\xCE\x91.\xED\x95\x9C\xE6\x97\xA5\xF0\xA3\x8E\xB4");
}

TEST(Utf8, ReplacesMaximalSubpartsAsUnicodeShowsIt) {
  // The Unicode Standard 15.0, section 3.9, tables 3-8 to 3-11.
  EXPECT_EQ(repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                     "A"),
            kR + kR + kR + kR + kR + kR + kR + kR + "A");
  EXPECT_EQ(repaired("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), kR + kR + kR + kR + kR + kR + kR + kR + "A");
  EXPECT_EQ(repaired("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), kR + kR + kR + kR + kR + "A" + kR + kR + "B");
  EXPECT_EQ(repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), kR + kR + kR + kR + "A");
}

TEST(Utf8, CountsReplacements) {
  std::string text =
      "a\xFF"
      "b\xE2\x82";
  EXPECT_EQ(replace_invalid_utf8(text), 2U);
  EXPECT_EQ(text, "a" + kR + "b" + kR);
}

TEST(Utf8, LeavesValidTextAlone) {
  const std::string valid =
      "Gr\xC3\xBC\xC3\x9F"
      "e \xF0\x9F\x98\x80 \xEF\xBF\xBD";
  std::string text = valid;
  EXPECT_EQ(replace_invalid_utf8(text), 0U);
  EXPECT_EQ(text, valid);
  EXPECT_EQ(find_invalid_utf8(text), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8(""), std::string_view::npos);
}

TEST(Utf8, KeepsNulBytes) {
  std::string text("a\0b", 3);
  EXPECT_EQ(replace_invalid_utf8(text), 0U);
  EXPECT_EQ(text.size(), 3U);
}

TEST(Utf8, FindsTheFirstIllFormedByte) {
  EXPECT_EQ(find_invalid_utf8("xyz\x80"), 3U);
  EXPECT_EQ(find_invalid_utf8("\xC3\xBC\xC3"), 2U);
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0U) << "a surrogate";
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0U) << "above U+10FFFF";
  EXPECT_EQ(find_invalid_utf8("\xC1\xBF"), 0U) << "overlong";
}

TEST(Utf8, RepairedTextIsAlwaysValid) {
  // All sequences of up to three bytes out of one of each kind of byte, between letters.
  const std::string kinds =
      "A"
      "\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xE0\xE1\xED\xF0\xF1\xF4\xF5\xFF";
  for (const char a : kinds)
    for (const char b : kinds)
      for (const char c : kinds) {
        const std::string text = repaired(std::string("x") + a + b + c + "y");
        ASSERT_EQ(find_invalid_utf8(text), std::string_view::npos);
        ASSERT_TRUE(text.starts_with('x') && text.ends_with('y'));
      }
}

}  // namespace
}  // namespace dragoman::core
