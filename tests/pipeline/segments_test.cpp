#include "error_message.h"
#include "sentence_splitter.h"
#include "tiny_model.h"
#include "token_segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::pipeline {
namespace {

class SegmentsTest : public ::testing::Test {
 protected:
  const dragoman::testing::TinyModel model_;
  const std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = tokenizer::load_tokenizer(model_.path() / "tokenizer.json");

  std::vector<std::string> texts(std::string_view text, std::size_t limit) const {
    std::vector<std::string> result;
    for (const auto& segment : token_segments(*tokenizer_, text, limit)) {
      EXPECT_LE(segment.size(), limit);
      EXPECT_FALSE(segment.empty());
      result.push_back(tokenizer_->decode(segment));
    }
    return result;
  }
};

TEST_F(SegmentsTest, ShortTextIsOneSegmentAndEmptyTextNone) {
  EXPECT_EQ(token_segments(*tokenizer_, "the cat sat", 50).size(), 1U);
  EXPECT_TRUE(token_segments(*tokenizer_, "", 50).empty());
}

TEST_F(SegmentsTest, LongTextIsCutBeforeWords) {
  std::string text = "the cat sat on the mat";
  for (int i = 0; i < 4; ++i) text += " " + text;
  std::size_t words = 0;
  for (const std::string& part : texts(text, 9)) {
    std::istringstream in(part);
    for (std::string word; in >> word; ++words) {
      EXPECT_TRUE(word == "the" || word == "cat" || word == "sat" || word == "on" || word == "mat") << word;
    }
  }
  EXPECT_EQ(words, 6U * 16);
}

TEST_F(SegmentsTest, AWordLongerThanTheLimitIsCutAnyway) {
  const std::string text(100, 'z');
  std::size_t tokens = 0;
  for (const auto& segment : token_segments(*tokenizer_, text, 7)) tokens += segment.size();
  EXPECT_EQ(tokens, tokenizer_->encode(text).size());
}

TEST_F(SegmentsTest, MegabytesAreCutAsAllAtOnceWouldBe) {
  // Beyond a megabyte a text is encoded stretch by stretch; the pieces must be those of the whole.
  const std::vector<std::string> words = {"the", "cat", "sat", " ", "Katze", "ein", "zzyx", "\xC3\xA9t\xC3\xA9",
                                          "mat."};
  std::string text;
  for (std::uint64_t i = 0; text.size() < std::size_t{5} << 19; ++i)
    text += words[i * 2654435761 / 65536 % words.size()] + " ";
  text += std::string(3 << 20, 'z') + " the end";
  std::vector<std::int32_t> ids;
  for (const auto& segment : token_segments(*tokenizer_, text, 23)) {
    EXPECT_LE(segment.size(), 23U);
    ids.insert(ids.end(), segment.begin(), segment.end());
  }
  EXPECT_TRUE(ids == tokenizer_->encode(text));
}

std::vector<std::string> sentences(const std::string& locale, const std::string& text) {
  std::vector<std::string> result;
  for (const TextRange& range : SentenceSplitter(locale).split(text))
    result.push_back(text.substr(range.begin, range.end - range.begin));
  return result;
}

TEST(SentenceSplitter, FindsSentencesWithoutTheBlanksBetween) {
  EXPECT_EQ(sentences("de", "Das ist gut.  Ist es das? Ja!"),
            (std::vector<std::string>{"Das ist gut.", "Ist es das?", "Ja!"}));
  EXPECT_EQ(sentences("ja", "これは本です。それはペンです。"),
            (std::vector<std::string>{"これは本です。", "それはペンです。"}));
  EXPECT_TRUE(sentences("en", "   ").empty());
}

TEST(SentenceSplitter, RefusesWhatIsNoLocale) {
  for (const char* locale : {"", "xx", "german", "C", "d", "de;rm", "und", "e\xCC\x81"})
    EXPECT_THAT(testing::error_of([&] { SentenceSplitter{locale}; }),
                ::testing::HasSubstr("is not a language that ICU knows"))
        << locale;
  for (const char* locale : {"de", "DE", "deu", "en-GB", "en_US", "zh-Hant", "iw", "nds", "en@ss=standard"})
    EXPECT_NO_THROW(SentenceSplitter{locale}) << locale;
}

}  // namespace
}  // namespace dragoman::pipeline
