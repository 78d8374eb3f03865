#include "regex/matcher.h"

#include "error_message.h"

#include <chrono>
#include <ctime>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>

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
  for (const char* expression :
       {"(a)\\1", "a{1,2}+", "(?i:ss)", "(?i:\xC3\xA9)", "(?=ab)", "^a$", "(?<=ab)c", "[[:alpha:]&&[^a]]", "(?i)a",
        "\\G.", "(?:ab)++", "a(?=$)", "(?!$)a", "(?<=^)a", "(?<!^)a", "(?=|)a"}) {
    EXPECT_EQ(Matcher(expression).engine(), Engine::kOniguruma) << expression;
    EXPECT_THAT(testing::error_of([&] { Matcher(expression, Engine::kLinear); }), HasSubstr("the pattern"));
  }
  EXPECT_EQ(matches(Matcher("(?=ab)"), "abcab"), (Ranges{{0, 0}, {3, 3}}));
  EXPECT_EQ(matches(Matcher("a{1,2}+"), "aaaab"), (Ranges{{0, 4}}));
  EXPECT_EQ(matches(Matcher("a(?=$)"), "a$a"), (Ranges{{2, 3}})) << "an anchor, and not the character";
  for (const char* expression : {"(?=*)", "(?=+)", "(?=?)"})
    EXPECT_NE(testing::error_of([&] { Matcher{expression}; }), "no error") << expression;
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
  const std::string letters(8188, 'x');
  EXPECT_EQ(Matcher("(?=" + letters + ")").engine(), Engine::kOniguruma);
  EXPECT_THAT(testing::message_of([&] { Matcher("(?=x" + letters + ")"); }), HasSubstr("of 8193 bytes is too long"));
}

TEST(Matcher, GivesUpInsteadOfGoingBackForever) {
  EXPECT_THAT(testing::message_of([] { matches(Matcher("(x+x+)+\\1y"), std::string(64, 'x')); }),
              HasSubstr("gives up on a text of 64 bytes"));
}

/// Steps forwards count as steps backwards do, and those of our own engine as those of Oniguruma: each of these needs
/// the square of the length of the text, or more. One of them reaches the limit of its memory before.
TEST(Matcher, AllStepsCountWhateverTheirDirection) {
  const std::string long_run(8000, 'a');
  const std::string text(100000, 'a');
  const std::pair<std::string, const char*> kCases[] = {
      {"(a{1000}){1000}", "too many steps"},
      {"(?=a*b)a", "too many steps"},
      {"a{0,1000}a{1000}0", "too many steps"},
      {"(?=(a+))a*b\\1", "too many steps"},
      {"a(?!.*b)", "too many steps"},
      {"(?:(?=(?:(?=a*)a)*)a)*", "match-stack limit over"},
      {"(?=(a+))(?=\\1)a", "too many steps"},
      {"(?i:(?=\\x{61}*b)a)", "too many steps"},
      {"(?=[[:alpha:]&&[^b]]*b)a", "too many steps"},
      {"(?=" + long_run + "b)a", "too many steps"},
      {"a(?=(?<x>a*))\\k<x>b", "too many steps"},
      {"(?<=a{1000})b|(?<!a{900})c|a(?=a*b)", "too many steps"},
  };
  for (const auto& [expression, reason] : kCases) {
    const std::clock_t start = std::clock();  // of the processor, which others may be using, too
    EXPECT_THAT(testing::message_of([&] { matches(Matcher(expression), text); }),
                HasSubstr(std::string("gives up on a text of 100000 bytes: ") + reason))
        << expression.substr(0, 80);
    EXPECT_LT(std::clock() - start, 3 * CLOCKS_PER_SEC) << expression.substr(0, 80);
  }
}

/// Both engines would search for more than ten seconds before their budget for so long a text ends.
TEST(Matcher, AStopEndsASearchWithinASecond) {
  using Clock = std::chrono::steady_clock;
  const std::string text(20'000'000, 'a');
  const std::pair<std::string, Engine> kCases[] = {{std::string(200, 'a') + "b", Engine::kLinear},
                                                   {"(?=a{0,1000}b)a", Engine::kOniguruma}};
  for (const auto& [expression, engine] : kCases) {
    std::stop_source stop;
    core::set_default_stop(stop.get_token());
    Clock::time_point asked;
    std::jthread asks([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      asked = Clock::now();
      stop.request_stop();
    });
    const Matcher matcher(expression, engine);
    EXPECT_THAT(testing::message_of([&] { matches(matcher, text); }, core::ErrorCode::kInterrupted),
                HasSubstr("interrupted"))
        << expression;
    asks.join();
    EXPECT_LT(Clock::now() - asked, std::chrono::seconds(1)) << expression;
    core::set_default_stop({});
  }
}

TEST(Matcher, PartsOfATextHaveOneBudget) {
  const Matcher matcher("(?=a*b)a");
  const std::string part(200, 'a');
  SearchWork work(part.size());
  const auto search_often = [&] {
    for (int i = 0; i < 1000; ++i)
      matcher.for_each(
          part, [](std::size_t, std::size_t) {}, work);
  };
  EXPECT_THAT(testing::message_of(search_often), HasSubstr("too many steps"));
}

/// The calls that count change nothing: on the left an expression, on the right its matches in the text.
TEST(Matcher, CountingChangesNoMatch) {
  const std::string_view text = "abc {x} aab]c\\1 \xC3\xA9\xC3\xA9 xyzzy";
  const std::pair<const char*, Ranges> kCases[] = {
      {"(?=ab)a{1,2}", {{0, 1}, {9, 10}}},
      {"(?=\\{)\\{x\\}", {{4, 7}}},
      {"(?={x}){x}", {{4, 7}}},
      {"(?<=b)[]c]+", {{2, 3}, {11, 13}}},
      {"(?=.)\xC3\xA9*y?z{2}", {{22, 25}}},
      {"(\xC3\xA9)\\1", {{16, 20}}},
      {"(?<c>[a-c&&[^b]])\\k<c>", {{8, 10}}},
      {"(z)\\1y|(?i)(?=X)X+", {{5, 6}, {21, 22}, {23, 26}}},
      {"(?=a)a{,2}b", {{0, 2}, {8, 11}}},
      {"(?>a+)b|(?!c)[[:alpha:]]{3}?c", {{0, 2}, {8, 11}}},
      {"\\bx\\w{2}{2}\\b", {{21, 26}}},
  };
  for (const auto& [expression, found] : kCases)
    EXPECT_EQ(matches(Matcher(expression, Engine::kOniguruma), text), found) << expression;
}

TEST(Matcher, WhatCannotBeCountedIsRefused) {
  for (const char* expression :
       {"(?~ab)", "(*FAIL)a", "(?=a)\\X", "(a)?(?(1)b|c)", "(?=a)(?#note)b", "(?x)(?=a) b", "(?=a)\\cA"})
    EXPECT_THAT(testing::error_of([&] { Matcher{expression}; }), HasSubstr("cannot be counted")) << expression;
}

}  // namespace
}  // namespace dragoman::tokenizer
