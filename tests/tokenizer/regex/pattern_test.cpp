#include "formats_test_support.h"
#include "regex/pattern_parser.h"
#include "targets/pattern_harness.h"
#include "test_data.h"

#include <random>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> matches_of(const std::string& expression, const std::string& text) {
  const Pattern pattern(expression);
  std::vector<std::string> found;
  Pattern::Search search(pattern, text);
  for (auto match = search.next(); match; match = search.next())
    found.push_back(std::to_string(match->begin) + ":" + text.substr(match->begin, match->end - match->begin));
  return found;
}

/// Makes expressions that std::regex understands as we do: no repetition of what can be empty, no look-behind.
class RandomExpression {
 public:
  explicit RandomExpression(unsigned seed) : random_(seed) {}
  std::string make() { return alternatives(3) + one_of({"a", "b", "[ab]", ".", "[^a]"}); }

 private:
  std::string one_of(const std::vector<std::string>& texts) { return texts[random_() % texts.size()]; }
  std::string alternatives(int depth) {
    std::string text = sequence(depth);
    while (random_() % 3 == 0) text += "|" + sequence(depth);
    return "(?:" + text + ")";
  }
  std::string sequence(int depth) {
    std::string text;
    for (unsigned i = random_() % 3; i > 0; --i)
      text += random_() % 6 == 0 ? one_of({"\\b", "\\B", "(?=a)", "(?![bc])"}) : repeated(depth);
    return text;
  }
  std::string repeated(int depth) {
    const bool nested = depth > 0 && random_() % 2 == 0;
    const std::string part =
        nested ? "(?:" + alternatives(depth - 1) + one_of({"a", "b"}) + ")" : one_of({"a", "b", "c", "[ac]", "[^b]"});
    return part + one_of({"", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}?", "{2,}"});
  }
  std::mt19937 random_;
};

TEST(Pattern, FindsWhatABacktrackingProgramFinds) {
  std::mt19937 random(4);
  int found = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    const std::string expression = RandomExpression(seed).make();
    const std::regex reference(expression);
    for (int i = 0; i < 6; ++i) {
      const std::string text = testing::random_text(random, "aabbc ", 12);
      std::vector<std::string> expected;
      for (std::sregex_iterator match(text.begin(), text.end(), reference), end; match != end; ++match)
        expected.push_back(std::to_string(match->position()) + ":" + match->str());
      ASSERT_EQ(matches_of(expression, text), expected) << expression << " in '" << text << "'";
      found += static_cast<int>(expected.size());
    }
  }
  EXPECT_GT(found, 5000);
}

TEST(Pattern, LooksBehind) {
  EXPECT_THAT(matches_of(R"((?<=\p{Ll})\p{Lu})", "aB\xC3\xA9\xC3\x89 CD"), ElementsAre("1:B", "4:\xC3\x89"));
  EXPECT_THAT(matches_of(R"((?<!\w)a)", "a ba a"), ElementsAre("0:a", "5:a"));
}

TEST(Pattern, BytesThatAreNotUtf8AreInNoClass) {
  EXPECT_THAT(matches_of("[^a]", "a\xFF\xC3\xA9\xE2\x96"), ElementsAre("2:\xC3\xA9"));
  EXPECT_THAT(matches_of("(?<!.)b",
                         "\xFF"
                         "b"),
              ElementsAre("1:b"));
}

std::vector<bool> golden_class(const core::Json& ranges) {
  std::vector<bool> members(0x110000, false);
  for (const core::Json& range : ranges)
    for (std::size_t c = range[0].get<std::size_t>(); c <= range[1].get<std::size_t>(); ++c) members[c] = true;
  return members;
}

/// golden/make_patterns_golden.py asked tokenizers about every character. Compared are those of Unicode 14, which ICU
/// knows, too.
TEST(Pattern, ClassesHoldTheCharactersThatTheyHoldElsewhere) {
  const core::Json classes = core::load_json(testing::golden_file("patterns.json").string())["classes"];
  for (const auto& [expression, ranges] : classes["tokenizers"].items()) {
    const Pattern pattern(expression);
    const std::vector<bool> members = golden_class(ranges);
    for (char32_t c = 0; c < 0x110000; ++c) {
      UVersionInfo age;
      u_charAge(static_cast<UChar32>(c), age);
      if (age[0] == 0 || age[0] > 14 || u_charType(static_cast<UChar32>(c)) == U_SURROGATE) continue;
      std::string text;
      core::append_utf8(text, c);
      ASSERT_EQ(Pattern::Search(pattern, text).next().has_value(), members[c]) << expression << " " << std::hex << +c;
    }
  }
}

TEST(Pattern, WhatIsNoPatternIsRefusedWithItsPlaceAndReason) {
  const auto error = [](const std::string& expression) { return testing::error_of([&] { Pattern{expression}; }); };
  EXPECT_EQ(error("a(b"), "the pattern 'a(b' at offset 1: this ( is not closed; write \\( for the character");
  const std::pair<const char*, const char*> kRefused[] = {{"a)", "offset 1"},
                                                          {"[a", "offset 0: this ["},
                                                          {"[]", "empty"},
                                                          {"", "empty text"},
                                                          {"a*", "empty text"},
                                                          {"\\b", "empty text"},
                                                          {"(a*)*b", "repeated here"},
                                                          {"*a", "nothing to repeat"},
                                                          {"a**", "quantifier behind"},
                                                          {"a++?", "quantifier behind"},
                                                          {"a?+?b", "quantifier behind"},
                                                          {"(?:ab)*+b", "possessive"},
                                                          {"a{2}+b", "possessive"},
                                                          {"(?i:ss)", "folds to"},
                                                          {"(?i:[^a])", "only ASCII"},
                                                          {"{2}", "nothing to repeat"},
                                                          {"a{99999999999999999999}", "too large"},
                                                          {"a{1,99999999999999999999}", "too large"},
                                                          {"a{2}{3}", "quantifier behind"},
                                                          {"a{3,2}", "smaller"},
                                                          {"a{,2}", "{0,n}"},
                                                          {"a{2}?", "programs differ"},
                                                          {"a{9999}", "4096 steps"},
                                                          {"(?:(?:a{60}){60}){60}", "4096 steps"},
                                                          {"(?<name>a)", "(?: (?="},
                                                          {"(?>a)", "(?: (?="},
                                                          {"(?i)a", "(?: (?="},
                                                          {"(?=ab)a", "one character or class"},
                                                          {"(?=a|b)a", "one character or class"},
                                                          {"\\1a", "escape"},
                                                          {"\\h", "escape"},
                                                          {"\\p{Cn}", "general category"},
                                                          {"\\p{Nope}", "general category"},
                                                          {"\\pL", "\\p{Lu}"},
                                                          {"\\xFF", "7F"},
                                                          {"\\u12", "HHHH"},
                                                          {"\\uD800", "HHHH"},
                                                          {"[z-a]", "range"},
                                                          {"[a-\\d]", "range"},
                                                          {"[a[b]]", "classes in"},
                                                          {"[a&&b]", "&&"},
                                                          {"[a--b]", "hyphen"},
                                                          {"[\\b]", "\\b"},
                                                          {"a\\", "escape"},
                                                          {"^a", "\\^"},
                                                          {"a$", "\\$"}};
  for (const auto& [expression, reason] : kRefused) EXPECT_THAT(error(expression), HasSubstr(reason)) << expression;
  EXPECT_THAT(error("\xFF"), HasSubstr("UTF-8"));
  EXPECT_THAT(error(std::string(200, '(') + "a"), HasSubstr("nested too deeply"));
  EXPECT_THAT(error("a" + std::string(65'535, '|')), HasSubstr("4096 steps"));
  EXPECT_THAT(error("a" + std::string(65'536, '|')), HasSubstr("a pattern of 65537 bytes"));
}

/// A class takes up to 30 KB: 4 KB of an expression with a class for each `\W` and `\B` took 54 MB.
TEST(Pattern, SharesLargeClasses) {
  EXPECT_EQ(parse_pattern(R"(\b\w\W\B\W\p{Lu}\b\w\p{Lu}[^a][^a])").program.classes.size(), 4U);
  EXPECT_EQ(parse_pattern("[a-c](?i:[a-c])[a-c]").program.classes.size(), 3U) << "(?i: changes one of them";
  EXPECT_EQ(Pattern("[a-c](?i:[a-c])[a-c]").stops_before(U'A'), false);
}

/// Where spaces are marks, an expression matches what it matches in text with spaces.
TEST(Pattern, MatchesTheSameWhereSpacesAreMarks) {
  static constexpr std::string_view kMark = "\xE2\x96\x81";
  std::string text;
  for (char c = ' '; c < '\x7F'; ++c) text += std::string(2, c) + "\t";
  std::string marked;
  for (const char c : text) marked += c == ' ' ? std::string(kMark) : std::string(1, c);
  const auto matches = [](const std::string& expression, const std::string& in) {
    std::string found;
    for (const std::string& match : matches_of(expression, in)) found += match.substr(match.find(':') + 1) + "\n";
    for (std::size_t at = found.find(kMark); at != std::string::npos; at = found.find(kMark))
      found.replace(at, kMark.size(), " ");
    return found;
  };
  for (const std::string expression :
       {"[ a]",     "[ -]",     "[ \\-]",  R"([ \\-])", "[ +--]",        "[- ]",       "[-]",
        "[^-]",     "[^ -]",    "[^\\-]",  R"([^\\-])", "[^!+--]",       "[!-+ ]+",    R"([\s-]x?)",
        R"([^\s])", R"([^\S])", R"(\S\s)", R"(\s+\S)",  R"(\P{L}\p{L})", R"([^\w-]+)", "[-+ -]"})
    EXPECT_EQ(matches(join_patterns({expression}, true), marked), matches(expression, text)) << expression;
}

TEST(Pattern, AnyTextIsAPatternOrAnError) {
  std::mt19937 random(8);
  int patterns = 0;
  for (int i = 0; i < 30'000; ++i) {
    const std::string expression =
        testing::random_text(random, "ab.[]()|*+?{}2,^$\\-dwsSpPLxub:=!<\xE2\x96\x81 ", 12) + (i % 2 == 0 ? "a" : "");
    patterns += testing::error_of([&] { matches_of(expression, "ab2"); }) == "no error" ? 1 : 0;
  }
  EXPECT_GT(patterns, 1000);
}

TEST(Pattern, FuzzSeedsAndChangesOfThemBehave) {
  const auto folder = testing::source_folder() / "tests" / "fuzz" / "corpus" / "pattern";
  std::mt19937 random(2);
  int seeds = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string seed = core::read_file(file.path());
    EXPECT_TRUE(fuzz::exercise_pattern(seed)) << file.path();
    ++seeds;
    for (int i = 0; i < 2000; ++i) {
      std::string changed = seed;
      changed[random() % changed.size()] = "ab.[]()|*+?{2},\\-dws\n\xFF "[random() % 24];
      fuzz::exercise_pattern(changed);
    }
  }
  EXPECT_GE(seeds, 5);
}

TEST(Pattern, TimeIsLinearForExpressionsThatMakeBacktrackingExponential) {
  const std::string text(300'000, 'a');
  EXPECT_EQ(matches_of("(?:a|aa)+b", text).size(), 0U);
  EXPECT_EQ(matches_of("(?:(?:a+)+)+b", text).size(), 0U);
  EXPECT_EQ(matches_of("a+b|a", text).size(), text.size());
}

TEST(Pattern, MemoryIsLimitedForTheTextAndForOneMatch) {
  const auto error = [](const std::string& expression, std::size_t size) {
    return testing::error_of([&] { matches_of(expression, std::string(size, 'a')); });
  };
  EXPECT_THAT(error("a{0,1300}b", 900'000), HasSubstr("a line of 900000 bytes is too long for its pattern"));
  const std::string four_ways = "(?:a|b|c|d)+";
  EXPECT_THAT(error(four_ways, 4'200'000),
              ::testing::AllOf(HasSubstr("a line of 4200000 bytes"), HasSubstr("simplify the pattern")));
  EXPECT_EQ(error(four_ways + "|(?:a|b|c|d)", 400'000), "no error");
}

}  // namespace
}  // namespace dragoman::tokenizer
