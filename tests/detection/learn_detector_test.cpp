#include "test_data.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/detection/language_detector.h>
#include <dragoman/detection/learn_detector.h>

namespace dragoman::testing {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using detection::LanguageDetector;
using detection::LanguageText;
using ::testing::HasSubstr;

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Learns a small table from the golden sentences, a few of which are repeated to make enough lines.
class LearnDetector : public ::testing::Test {
 protected:
  LearnDetector() {
    std::ifstream in(golden_file("everyday.tsv"));
    std::map<std::string, std::string> texts;
    for (std::string line; std::getline(in, line);)
      texts[line.substr(0, line.find('\t'))] += line.substr(line.find('\t') + 1) + '\n';
    for (const std::string language : {"de", "en", "ru", "uk"}) {
      const fs::path file = folder_ / (language + ".txt");
      std::ofstream(file) << texts.at(language) << texts.at(language) << texts.at(language);
      texts_.push_back({language, {file}});
    }
  }

  static ErrorCode code_of(const std::function<void()>& call, const std::string& part) {
    try {
      call();
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
      return error.code();
    }
    ADD_FAILURE() << "no error: " << part;
    return ErrorCode::kInternal;
  }

  const TemporaryFolder folder_;
  const fs::path table_ = folder_ / "table.bin";
  std::vector<LanguageText> texts_;
  const detection::LearnDetectorOptions small_{.rows = 2048, .width = 8, .steps = 20'000};
};

TEST_F(LearnDetector, LearnsToTellLanguagesApart) {
  learn_detector(texts_, table_, small_);
  const LanguageDetector detector{table_};
  EXPECT_EQ(detector.detect("Das kleine Dorf", 1).front().language, "de");
  EXPECT_EQ(detector.detect("the small village", 1).front().language, "en");
  EXPECT_EQ(detector.detect("мій брат живе", 1).front().language, "uk");
  EXPECT_EQ(detector.detect("мой брат живёт", 1).front().language, "ru");
  EXPECT_EQ(detector.detect("Πού είναι;", 1).front().language, "el") << "needs no text";
}

TEST_F(LearnDetector, TheSameTextsAndSeedGiveTheSameBytes) {
  learn_detector(texts_, table_, small_);
  const std::string first = content_of(table_);
  learn_detector(texts_, table_, small_);
  EXPECT_EQ(content_of(table_), first);
  auto other = small_;
  other.seed = 2;
  learn_detector(texts_, table_, other);
  EXPECT_NE(content_of(table_), first);
}

TEST_F(LearnDetector, RefusesTextsAndOptionsThatCannotWork) {
  const auto learn = [&](std::vector<LanguageText> texts, detection::LearnDetectorOptions options) {
    return [this, texts = std::move(texts), options] { learn_detector(texts, table_, options); };
  };
  EXPECT_EQ(code_of(learn({texts_[0]}, small_), "two languages"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(learn({texts_[0], texts_[0]}, small_), "de twice"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(learn({texts_[0], {"a b", texts_[1].files}}, small_), "'a b'"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(learn({texts_[0], texts_[2]}, small_), "no two texts"), ErrorCode::kBadInput);
  EXPECT_EQ(code_of(learn(texts_, {.rows = 1}), "`rows` 1"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(learn(texts_, {.steps = 0}), "`steps` 0"), ErrorCode::kInvalidArgument);
  std::ofstream(folder_ / "few.txt") << "Ein Satz.\n";
  EXPECT_EQ(code_of(learn({texts_[0], {"xx", {folder_ / "few.txt"}}}, small_), "language xx"), ErrorCode::kBadInput);
  EXPECT_FALSE(fs::exists(table_));
}

TEST_F(LearnDetector, AStopRequestLeavesNothing) {
  std::stop_source stop;
  const auto progress = [&](const core::Progress&) { stop.request_stop(); };
  auto longer = small_;
  longer.steps = 1'000'000'000;
  EXPECT_EQ(code_of([&] { learn_detector(texts_, table_, longer, progress, stop.get_token()); }, "interrupted while"),
            ErrorCode::kInterrupted);
  EXPECT_FALSE(fs::exists(table_));
}

TEST_F(LearnDetector, ADamagedTableIsRefused) {
  learn_detector(texts_, table_, small_);
  const std::string bytes = content_of(table_);
  for (const std::size_t length : {0UL, 4UL, 8UL, 23UL, 60UL, 200UL, bytes.size() - 1})
    EXPECT_EQ(code_of([&] { LanguageDetector::from_bytes(bytes.substr(0, length), "t.bin"); }, "t.bin: not a table"),
              ErrorCode::kBadInput);
  EXPECT_EQ(code_of([&] { LanguageDetector::from_bytes(bytes + "x", "t.bin"); }, "follow the last row"),
            ErrorCode::kBadInput);
  std::string version = bytes;
  version[8] = 9;
  EXPECT_EQ(code_of([&] { LanguageDetector::from_bytes(version, "t.bin"); }, "version is 9"), ErrorCode::kBadInput);
  EXPECT_EQ(code_of([&] { LanguageDetector{folder_ / "none.bin"}; }, "none.bin"), ErrorCode::kIo);
}

}  // namespace
}  // namespace dragoman::testing
