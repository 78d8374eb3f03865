#include "golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using evaluation::BleuTokenizer;
using evaluation::tokenize;
using evaluation::tokenize_for_ter;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BleuTokenizer, cuts_as_sacrebleu_does) {
  std::vector<std::string> lines = hypotheses();
  for (const auto& stream : references(2)) lines.insert(lines.end(), stream.begin(), stream.end());
  for (const core::Json& expected : expected()["tokens"]) {
    const BleuTokenizer tokenizer = tokenizer_named(expected["tokenizer"]);
    ASSERT_EQ(expected["lines"].size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_EQ(tokenize(lines[i], tokenizer), expected["lines"][i].get<std::vector<std::string>>())
          << expected["tokenizer"] << ": " << lines[i];
  }
}

TEST(BleuTokenizer, zh_cuts_at_the_limits_as_sacrebleu_does) {
  for (const core::Json& line : expected()["zh"])
    EXPECT_EQ(tokenize(line[0].get<std::string>(), BleuTokenizer::kChinese), line[1].get<std::vector<std::string>>())
        << line[0];
}

TEST(BleuTokenizer, a_13a_period_or_comma_stays_between_digits) {
  EXPECT_THAT(tokenize("It cost 1,000.50, or so.", BleuTokenizer::k13a),
              ElementsAre("It", "cost", "1,000.50", ",", "or", "so", "."));
}

TEST(BleuTokenizer, a_13a_dash_is_cut_off_after_a_digit_only) {
  EXPECT_THAT(tokenize("2019-2021 well-known", BleuTokenizer::k13a), ElementsAre("2019", "-", "2021", "well-known"));
}

TEST(BleuTokenizer, entities_are_resolved_one_after_the_other) {
  EXPECT_THAT(tokenize("&quot;a&quot; &amp;lt; b", BleuTokenizer::k13a), ElementsAre("\"", "a", "\"", "<", "b"));
}

TEST(BleuTokenizer, characters_are_code_points_without_white_space) {
  EXPECT_THAT(tokenize("né\u3000中", BleuTokenizer::kCharacter), ElementsAre("n", "é", "中"));
}

TEST(BleuTokenizer, international_treats_punctuation_of_all_scripts) {
  EXPECT_THAT(tokenize("«Да», 1,5€。", BleuTokenizer::kInternational),
              ElementsAre("«", "Да", "»", ",", "1,5", "€", "。"));
}

TEST(TerTokenizer, normalises_as_tercom_does) {
  // sacreBLEU 2.6.0: TercomTokenizer(...)(segment)
  const evaluation::TerOptions normalized{.normalized = true};
  EXPECT_THAT(tokenize_for_ter("A  b (c) D.", {}), ElementsAre("a", "b", "(c)", "d."));
  EXPECT_THAT(tokenize_for_ter("Jim's car, 4.2", normalized), ElementsAre("jim", "'s", "car", ",", "4.2"));
  EXPECT_THAT(tokenize_for_ter("A ; B ) C : D.", {.no_punct = true, .case_sensitive = true}),
              ElementsAre("A", "B", "C", "D"));
  EXPECT_THAT(tokenize_for_ter("りの拳銃", {.normalized = true, .asian_support = true}),
              ElementsAre("りの", "拳", "銃"));
}

TEST(BleuTokenizer, nothing_has_no_tokens) {
  for (const auto tokenizer : {BleuTokenizer::k13a, BleuTokenizer::kInternational, BleuTokenizer::kCharacter,
                               BleuTokenizer::kNone, BleuTokenizer::kChinese}) {
    EXPECT_THAT(tokenize("", tokenizer), IsEmpty());
    EXPECT_THAT(tokenize(" \t\u00a0\u3000", tokenizer), IsEmpty());
  }
}

}  // namespace
}  // namespace dragoman::testing
