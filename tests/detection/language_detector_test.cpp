#include "test_data.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/detection/language_detector.h>

namespace dragoman::testing {
namespace {

using detection::built_in_detector;
using detection::Guess;
using detection::LanguageDetector;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Labelled {
  std::string language;
  std::string text;
};

std::vector<Labelled> read_labelled(const std::string& name) {
  std::ifstream in(golden_file(name));
  std::vector<Labelled> lines;
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    lines.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return lines;
}

std::string best(const LanguageDetector& detector, std::string_view text) {
  const auto guesses = detector.detect(text, 1);
  return guesses.empty() ? "" : guesses.front().language;
}

std::string best(std::string_view text) {
  return best(built_in_detector(), text);
}

/// Returns the share of lines whose language is the best guess, and prints the others.
double accuracy(const std::vector<Labelled>& lines) {
  std::size_t right = 0;
  for (const auto& [language, text] : lines) {
    if (best(text) == language)
      ++right;
    else
      std::cout << language << " taken for " << best(text) << ": " << text << '\n';
  }
  return static_cast<double>(right) / static_cast<double>(lines.size());
}

// The floors are a little below the measured values, so that a new table may trade one line for another.

TEST(LanguageDetector, RecognisesEverydaySentences) {
  const auto lines = read_labelled("everyday.tsv");
  ASSERT_GT(lines.size(), 150u);
  EXPECT_GE(accuracy(lines), 0.97);
}

TEST(LanguageDetector, RecognisesMostSingleWords) {
  const auto lines = read_labelled("words.tsv");
  ASSERT_GT(lines.size(), 100u);
  EXPECT_GE(accuracy(lines), 0.8);
}

TEST(LanguageDetector, KnowsAtLeastFortyLanguages) {
  const auto languages = built_in_detector().languages();
  EXPECT_GE(languages.size(), 60u);
  EXPECT_TRUE(std::is_sorted(languages.begin(), languages.end()));
  for (const char* code : {"de", "en", "zh", "zh-Hant", "nb", "ka"})
    EXPECT_TRUE(std::binary_search(languages.begin(), languages.end(), code)) << code;
}

TEST(LanguageDetector, ReturnsNothingForATextWithoutLetters) {
  for (const char* text : {"", " ", "\n", "12:30", "3,14 + 2 = ?", "😀 🎉", "…", "https://example.org/path?q=hallo",
                           "www.example.org", "name@example.org", "'", "\xE2\x80\x8B", "\xFF\xFE", "ᎠᏴ ᎾᏍᎩ"})
    EXPECT_THAT(built_in_detector().detect(text), IsEmpty()) << text;
}

TEST(LanguageDetector, AddressesInATextDoNotCount) {
  const std::string text = "Das Fenster ist kaputt";
  const auto plain = built_in_detector().detect(text);
  const auto with = built_in_detector().detect("https://example.org/the/weather/of/today " + text + " me@example.org");
  ASSERT_EQ(plain.size(), with.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i].confidence, with[i].confidence);
}

TEST(LanguageDetector, ConfidencesAreSortedSharesOfOne) {
  for (const auto& [language, text] : read_labelled("everyday.tsv")) {
    const auto guesses = built_in_detector().detect(text, 1000);
    double sum = 0;
    double last = 1;
    for (const Guess& guess : guesses) {
      EXPECT_GT(guess.confidence, 0) << text;
      EXPECT_LE(guess.confidence, last) << text;
      last = guess.confidence;
      sum += guess.confidence;
    }
    EXPECT_LE(sum, 1 + 1e-9) << text;
    EXPECT_LE(built_in_detector().detect(text).size(), 3u) << text;
    EXPECT_THAT(built_in_detector().detect(text, 0), IsEmpty()) << text;
  }
}

TEST(LanguageDetector, CaseCompositionAndPunctuationDoNotMatter) {
  const auto expect_equal = [](const char* a, const char* b) {
    const auto one = built_in_detector().detect(a);
    const auto two = built_in_detector().detect(b);
    ASSERT_EQ(one.size(), two.size()) << b;
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].language, two[i].language) << b;
      EXPECT_EQ(one[i].confidence, two[i].confidence) << b;
    }
  };
  expect_equal("möglich für jeden", "MÖGLICH FÜR JEDEN");
  expect_equal("möglich für jeden", "mo\xCC\x88glich fu\xCC\x88r jeden");
  expect_equal("möglich für jeden", "möglich -- (für) \"jeden\"! 12");
  expect_equal("l'été d'hier", "l’été d’hier");
}

TEST(LanguageDetector, ChoosesBetweenTheGivenLanguages) {
  const LanguageDetector some = built_in_detector().among({"sk", "en", "de"});
  EXPECT_THAT(some.languages(), ElementsAre("de", "en", "sk"));
  EXPECT_EQ(best("Můj bratr bydlí v malé vesnici."), "cs");
  EXPECT_EQ(best(some, "Můj bratr bydlí v malé vesnici."), "sk");
  EXPECT_THAT(some.detect("Где находится вокзал?"), IsEmpty());
  EXPECT_THAT(some.detect("Πού είναι;"), IsEmpty());
  const auto alone = built_in_detector().among({"fr"}).detect("bonjour");
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone.front().confidence, 1);
}

TEST(LanguageDetector, RefusesLanguagesThatItDoesNotKnow) {
  const auto expect_refused = [](const LanguageDetector& detector, const std::vector<std::string>& languages) {
    try {
      detector.among(languages);
      ADD_FAILURE() << "accepted";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
    }
  };
  expect_refused(built_in_detector(), {});
  expect_refused(built_in_detector(), {"de", "tlh"});
  expect_refused(built_in_detector().among({"de", "en"}), {"fr"});
}

TEST(LanguageDetector, ATextInTwoScriptsHasTheLanguagesOfBoth) {
  const auto guesses = built_in_detector().detect("Вчера вечером мы смотрели фильм. ありがとうございます。");
  ASSERT_GE(guesses.size(), 2u);
  EXPECT_EQ(std::minmax(guesses[0].language, guesses[1].language), std::minmax<std::string>("ja", "ru"));
  EXPECT_EQ(best("Die Wörter Ελλάδα und Россия stehen in diesem deutschen Satz."), "de");
  EXPECT_EQ(best("이 문장에는 영어 단어 computer 가 있습니다"), "ko");
}

TEST(LanguageDetector, ReadsPartsOfALongText) {
  const std::string sentence = "Mein Bruder wohnt in einem kleinen Dorf und lernt Klavier. ";
  std::string text;
  while (text.size() < 50 * LanguageDetector::kMaxBytes) text += sentence;
  EXPECT_EQ(best(text), "de");
  // A preface in another language is a small part of the whole.
  EXPECT_EQ(best("It will probably rain all day tomorrow. " + text), "de");
  std::string chinese;
  while (chinese.size() < 2 * LanguageDetector::kMaxBytes) chinese += "我们昨天晚上看了一部电影。";
  EXPECT_EQ(best(chinese), "zh");
}

TEST(LanguageDetector, AcceptsAnyBytes) {
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 600; ++i) {
    state = state * 1664525 + 1013904223;
    text.push_back(static_cast<char>(state >> 24));
    const auto guesses = built_in_detector().detect(std::string_view(text).substr(text.size() / 2), 1000);
    for (const Guess& guess : guesses) EXPECT_TRUE(guess.confidence > 0 && guess.confidence <= 1);
  }
}

TEST(LanguageDetector, IsNotSureOfWhatIsNoText) {
  std::uint32_t state = 7;
  const auto random = [&](std::uint32_t below) {
    return (state = state * 1664525 + 1013904223) / (0xFFFFFFFFU / below + 1);
  };
  const auto confidence = [](const std::string& text) {
    const auto guesses = built_in_detector().detect(text, 1);
    return guesses.empty() ? 0.0 : guesses.front().confidence;
  };
  double bytes = 0;
  double letters = 0;
  constexpr int kTexts = 200;
  for (int i = 0; i < kTexts; ++i) {
    std::string noise;
    for (int k = 0; k < 100; ++k) noise.push_back(static_cast<char>(random(256)));
    EXPECT_LT(confidence(noise), 0.1) << noise;
    bytes += confidence(noise);
    noise.clear();
    for (int k = 0; k < 100; ++k) noise.push_back(static_cast<char>('a' + random(26)));
    letters += confidence(noise);
  }
  EXPECT_LT(bytes / kTexts, 0.05);
  EXPECT_LT(letters / kTexts, 0.3);
  for (const char* letter : {"a", "b", "e", "k", "l", "n", "q", "x", "z", "é", "ж", "中", "α", "ข", "ह"})
    for (const int count : {12, 40, 300}) {
      std::string text;
      for (int i = 0; i < count; ++i) text += letter;
      EXPECT_LT(confidence(text), 0.3) << text;
    }
  EXPECT_LT(confidence("xyxyxyxyxyxyxyxyxyxy"), 0.3);
}

/// The factor for what is no text leaves texts alone.
TEST(LanguageDetector, IsSureOfSentences) {
  for (const char* name : {"everyday.tsv", "words.tsv"})
    for (const auto& [language, text] : read_labelled(name)) {
      double sum = 0;
      for (const Guess& guess : built_in_detector().detect(text, 1000)) sum += guess.confidence;
      EXPECT_GT(sum, 0.999) << text;
    }
  for (const char* text : {"banana", "Mississippi", "谢谢", "Angstschweiß", "Rhythmus", "Eiaiaia", "strengthlessness",
                           "ja ja", "HELLO WORLD"}) {
    double sum = 0;
    for (const Guess& guess : built_in_detector().detect(text, 1000)) sum += guess.confidence;
    EXPECT_GT(sum, 0.999) << text;
  }
}

TEST(LanguageDetector, ThreadsShareIt) {
  const auto lines = read_labelled("everyday.tsv");
  std::vector<std::string> expected;
  for (const auto& [language, text] : lines) expected.push_back(best(text));
  std::vector<std::vector<std::string>> found(4);
  std::vector<std::thread> threads;
  for (auto& results : found)
    threads.emplace_back([&] {
      for (const auto& [language, text] : lines) results.push_back(best(text));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& results : found) EXPECT_EQ(results, expected);
}

}  // namespace
}  // namespace dragoman::testing
