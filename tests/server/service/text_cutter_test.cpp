#include "text_cutter.h"

#include "language_codes.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::server {
namespace {

struct Cut {
  std::vector<std::string> sentences{};
  std::string joined{};
};

Cut cut(const std::string& text, bool spaced = true) {
  TextCutter cutter(text, true, spaced, Splitters().get("en"));
  Cut result;
  while (const auto segment = cutter.next()) {
    result.joined += segment->before + segment->text;
    result.sentences.push_back(segment->text);
  }
  result.joined += cutter.after();
  return result;
}

TEST(TextCutter, CutsLinesAndSentences) {
  const std::string text = " One two. Three?\n\n- four\t\r\nFive.  ";
  const Cut result = cut(text);
  EXPECT_THAT(result.sentences, ::testing::ElementsAre("One two.", "Three?", "- four", "Five."));
  EXPECT_EQ(result.joined, text);
}

TEST(TextCutter, SpacesBetweenSentencesFollowTheTargetLanguage) {
  EXPECT_EQ(cut("你好。再见。").joined, "你好。 再见。");
  EXPECT_EQ(cut("One. Two.", false).joined, "One.Two.");
  EXPECT_EQ(cut("One.\nTwo.", false).joined, "One.\nTwo.");
}

TEST(TextCutter, LosesNothingOfRandomTexts) {
  const std::vector<std::string> parts = {"a",  "Über", " ", "  ",   ". ",     "! ", "\n",    "\r\n",
                                          "\t", "猫",   "…", "🙂", "\u2028", "\"", "z. B. "};
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::size_t i = random() % 40; i > 0; --i) text += parts[random() % parts.size()];
    const Cut result = cut(text);
    std::string plain = result.joined;
    std::string expected = text;
    std::erase(plain, ' ');
    std::erase(expected, ' ');
    EXPECT_EQ(plain, expected) << text;
    for (const std::string& sentence : result.sentences) {
      EXPECT_FALSE(sentence.empty());
      EXPECT_EQ(sentence.find_first_of("\r\n"), std::string::npos);
    }
  }
}

TEST(TextCutter, EndlessSentencesAreCutAtSpaces) {
  std::string text;
  while (text.size() < 50'000) text += "wörter ohne ende ";
  text.pop_back();
  const Cut result = cut(text);
  EXPECT_EQ(result.joined, text);
  for (const std::string& sentence : result.sentences) EXPECT_LE(sentence.size(), TextCutter::kMaxBytesOfSentence);
  std::string letters;
  while (letters.size() < 10'000) letters += "ü";
  EXPECT_EQ(cut(letters).joined, letters);
}

TEST(TextCutter, ATextThatIsNotCutIsOneSegment) {
  TextCutter cutter("a. b.\nc", false, true, nullptr);
  EXPECT_EQ(cutter.next()->text, "a. b.\nc");
  EXPECT_EQ(cutter.next(), std::nullopt);
  EXPECT_EQ(cutter.after(), "");
}

TEST(LanguageCodes, EqualLanguagesHaveEqualKeys) {
  for (const auto& [code, key] : std::vector<std::pair<std::string, std::string>>{{"de", "de"},
                                                                                  {"DEU", "de"},
                                                                                  {"deu_Latn", "de"},
                                                                                  {"de_DE", "de"},
                                                                                  {"__de__", "de"},
                                                                                  {"zh-Hans", "zh"},
                                                                                  {"zho_Hans", "zh"},
                                                                                  {"zh-CN", "zh"},
                                                                                  {"zho_Hant", "zh-TW"},
                                                                                  {"zh-Hant", "zh-TW"},
                                                                                  {"pt-BR", "pt"},
                                                                                  {"pt_PT", "pt-PT"},
                                                                                  {"en-GB", "en-GB"},
                                                                                  {"", ""},
                                                                                  {"!", ""}})
    EXPECT_EQ(language_key(code), key) << code;
  EXPECT_EQ(without_region("en-GB"), "en");
  EXPECT_EQ(without_region("zh-Hant-HK"), "zh-TW");
  EXPECT_EQ(language_name("de"), "German");
  EXPECT_TRUE(has_no_spaces("zh-Hans"));
  EXPECT_FALSE(has_no_spaces("ko"));
}

}  // namespace
}  // namespace dragoman::server
