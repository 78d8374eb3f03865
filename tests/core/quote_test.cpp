#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::core {
namespace {

TEST(Quote, PlainTextOfAnyScriptStays) {
  EXPECT_EQ(printable("a 'b' \\ c"), "a 'b' \\ c");
  EXPECT_EQ(printable("Füße 😀 日本語 ▁en"), "Füße 😀 日本語 ▁en");
  EXPECT_EQ(quote("Füße"), "'Füße'");
  EXPECT_EQ(quote(""), "''");
}

TEST(Quote, NothingTalksToTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mred\x1b[0m\nb\r\t"), "a\\x1b[31mred\\x1b[0m\\nb\\r\\t");
  EXPECT_EQ(printable(std::string_view("\0\x07\x7f", 3)), "\\x00\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m")
      << "the one-character form of ESC [";
  EXPECT_EQ(printable("\u202Egpj.exe\u2066\u2028"), "\\u202egpj.exe\\u2066\\u2028");
}

TEST(Quote, IllFormedTextIsShownByItsBytes) {
  EXPECT_EQ(printable("a\xff\xc3(b"), "a\\xff\\xc3(b");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
}

TEST(Quote, LongTextIsCutAtACharacter) {
  EXPECT_EQ(printable("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(printable("abcdefghi", 8), "abcde...");
  EXPECT_EQ(printable("äöüäöü", 8), "äö...");
  EXPECT_EQ(printable("\x1b\x1b\x1b", 8), "\\x1b...");
  EXPECT_EQ(printable("abcdeäfgh", 8), "abcde...");
  EXPECT_EQ(printable("abcdäefgh", 8), "abcd...");
  EXPECT_EQ(printable("ä\x1b plain", 9), "ä\\x1b...");
  EXPECT_EQ(printable("ä\x1b plain", 13), "ä\\x1b plain");
  EXPECT_EQ(printable("abc", 2), "..");
  EXPECT_EQ(quote(std::string(1000, 'x')).size(), 122U);
  for (std::size_t longest = 0; longest < 40; ++longest)
    EXPECT_LE(printable("a\x1b"
                        "ö\xff\u202E and so on and so on",
                        longest)
                  .size(),
              longest);
}

TEST(Quote, AnErrorIsOneBoundedLineWhateverItWasMadeOf) {
  const Error error(ErrorCode::kBadInput, "first\nsecond \x1b]0;title\x07" + std::string(1 << 20, 'x'));
  const std::string_view message = error.what();
  EXPECT_EQ(message.size(), Error::kLongestMessage);
  EXPECT_TRUE(message.starts_with("first\\nsecond \\x1b]0;title\\x07xxx")) << message.substr(0, 60);
}

}  // namespace
}  // namespace dragoman::core
