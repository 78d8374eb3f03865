#include "regex/matcher.h"

#include "error_message.h"

#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using Engine = Matcher::Engine;
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;
using ::testing::HasSubstr;

Ranges matches(const Matcher& matcher, std::string_view text) {
  Ranges found;
  matcher.for_each(text, [&](std::size_t begin, std::size_t end) { found.emplace_back(begin, end); });
  return found;
}

constexpr const char* kBothRead[] = {
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|"
    "'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+(?!\\S)|\\s+",
    "[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+",
    "a++b?|b?+a",
    "a*+b|[ab]?+a",
    "(?i:[sdmt]|k|ab)",
    "\\w+?b|\\W\\b",
    "(?:ab|a)(?:b|ba)*(?=b)",
};

TEST(Matcher, BothEnginesFindTheSame) {
  const std::string_view kPieces[] = {
      "a",  "b", "ab", "A",        "'s",       "'LL",          "\xC5\xBF", "\xE2\x84\xAA",     " ",   "\n", "1",
      "23", ".", "/",  "\xC3\xA9", "\xC3\x89", "\xE4\xB8\xAD", "\xCC\x81", "\xF0\x9F\x98\x80", "\xFF"};
  std::mt19937 random(5);
  for (const char* expression : kBothRead) {
    const Matcher own(expression);
    ASSERT_EQ(own.engine(), Engine::kLinear) << expression;
    const Matcher other(expression, Engine::kOniguruma);
    for (int i = 0; i < 3000; ++i) {
      std::string text;
      for (std::size_t n = random() % 14; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
      ASSERT_EQ(matches(own, text), matches(other, text)) << expression << " in " << text;
    }
  }
}

TEST(Matcher, WhatTheOwnEngineCannotReadGoesToOniguruma) {
  for (const char* expression : {"(a)\\1", "a{1,2}+", "(?i:ss)", "(?i:\xC3\xA9)", "(?=ab)", "^a$", "(?<=ab)c",
                                 "[[:alpha:]&&[^a]]", "(?i)a", "\\G.", "(?:ab)++"}) {
    EXPECT_EQ(Matcher(expression).engine(), Engine::kOniguruma) << expression;
    EXPECT_THAT(testing::error_of([&] { Matcher(expression, Engine::kLinear); }), HasSubstr("the pattern"));
  }
  EXPECT_EQ(matches(Matcher("(?=ab)"), "abcab"), (Ranges{{0, 0}, {3, 3}}));
  EXPECT_EQ(matches(Matcher("a{1,2}+"), "aaaab"), (Ranges{{0, 4}}));
  EXPECT_EQ(matches(Matcher("x*"), "axb"), (Ranges{{0, 0}, {1, 2}, {3, 3}}));
}

TEST(Matcher, BytesThatAreNotUtf8AreControlCharacters) {
  for (const Engine engine : {Engine::kLinear, Engine::kOniguruma})
    EXPECT_EQ(matches(Matcher("[^a]+", engine), "a\xC3\xFF\x80 a\xE2\x82"), (Ranges{{1, 5}, {6, 8}}));
}

TEST(Matcher, RefusesWhatIsNoPattern) {
  EXPECT_THAT(testing::message_of([] { Matcher("(a"); }), HasSubstr("the pattern '(a': end pattern with unmatched"));
  EXPECT_THAT(testing::message_of([] { Matcher("\xFF"); }), HasSubstr("not valid UTF-8 at offset 0"));
  EXPECT_THAT(testing::message_of([] { Matcher(std::string(70000, 'a')); }), HasSubstr("too long"));
}

TEST(Matcher, GivesUpInsteadOfGoingBackForever) {
  EXPECT_THAT(testing::message_of([] { matches(Matcher("(x+x+)+\\1y"), std::string(64, 'x')); }),
              HasSubstr("gives up on a text of 64 bytes"));
}

}  // namespace
}  // namespace dragoman::tokenizer
