#include "error_message.h"
#include "pipeline/sentence_splitter.h"
#include "test_data.h"
#include "tiny_model.h"
#include "translation/token_segments.h"

#include <fstream>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tokenizer/piece_lines.h>
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
      EXPECT_LE(segment.ids.size(), limit);
      EXPECT_FALSE(segment.ids.empty());
      result.push_back(tokenizer_->decode(segment.ids));
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

TEST_F(SegmentsTest, AnyWhiteSpaceIsAPlaceToCut) {
  for (const char* space : {"\u00A0", "\u3000", "\u2003", "\v"}) {
    const std::string text = std::string("cat cat") + space + "cat";
    const std::size_t tokens = tokenizer_->encode(text).size();
    ASSERT_GT(tokens, 4U);
    const std::vector<std::string> parts = texts(text, tokens - 1);
    ASSERT_EQ(parts.size(), 2U) << text;
    EXPECT_TRUE(parts[1] == "cat" || parts[1] == space + std::string("cat")) << parts[1];
  }
}

TEST_F(SegmentsTest, ALineOfPiecesIsCutWhereItsTextIs) {
  const tokenizer::PieceLines lines(*tokenizer_);
  const std::string text =
      " the Katze  \u4F45zz sat on\u3000the mat. zzzzzzzzz\u2003the cat\u00A0und  \v eine Katze \u4F45";
  const std::string line = lines.write(tokenizer_->encode(text));
  for (std::size_t limit = 3; limit < 60; ++limit) {
    std::vector<std::vector<std::int32_t>> expected, found;
    for (const TokenSegment& segment : token_segments(*tokenizer_, text, limit)) expected.push_back(segment.ids);
    std::size_t end = 0;
    for (const TokenSegment& segment : piece_segments(*tokenizer_, lines.read(line), line.size(), limit)) {
      found.push_back(segment.ids);
      EXPECT_EQ(segment.text.begin, end);
      end = segment.text.end;
    }
    EXPECT_EQ(found, expected) << limit;
    EXPECT_EQ(end, line.size());
  }
  EXPECT_TRUE(piece_segments(*tokenizer_, {}, 1, 5).empty());
}

TEST_F(SegmentsTest, SegmentsCoverTheTextAndTokensHaveTheirPlaces) {
  const std::string text = " the Katze  \u4F45zz sat on\u3000the mat. ";
  for (const std::size_t limit : {3U, 7U, 100U}) {
    std::size_t done = 0;
    std::vector<tokenizer::Piece> pieces;
    for (const TokenSegment& segment : token_segments(*tokenizer_, text, limit, true)) {
      EXPECT_EQ(segment.text.begin, done);
      done = segment.text.end;
      ASSERT_EQ(segment.places.size(), segment.ids.size());
      for (std::size_t i = 0; i < segment.ids.size(); ++i)
        pieces.push_back({segment.ids[i], segment.places[i].begin, segment.places[i].end});
    }
    EXPECT_EQ(done, text.size());
    EXPECT_EQ(pieces, tokenizer_->encode_pieces(text));
  }
}

TEST_F(SegmentsTest, AWordLongerThanTheLimitIsCutAnyway) {
  const std::string text(100, 'z');
  std::size_t tokens = 0;
  for (const auto& segment : token_segments(*tokenizer_, text, 7)) tokens += segment.ids.size();
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
    EXPECT_LE(segment.ids.size(), 23U);
    ids.insert(ids.end(), segment.ids.begin(), segment.ids.end());
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
  EXPECT_EQ(sentences("de", "Das ist gut.\u00A0Ist es das?\u2003Ja!\u3000"),
            (std::vector<std::string>{"Das ist gut.", "Ist es das?", "Ja!"}));
  EXPECT_EQ(sentences("de", "\u00A0\u202F Ja!\u2028\u3000\u0085"), std::vector<std::string>{"Ja!"});
  EXPECT_TRUE(sentences("en", "\u00A0\u3000\v\f\u0085\u2029").empty());
}

/// Reads the sentences of each language from a file of lines, with `[de]` before those of German.
std::map<std::string, std::vector<std::string>> golden_sentences() {
  std::map<std::string, std::vector<std::string>> all;
  std::ifstream in(dragoman::testing::golden_file("sentences.txt"));
  std::string locale;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('['))
      locale = line.substr(1, line.size() - 2);
    else
      all[locale].push_back(line);
  }
  return all;
}

TEST(SentenceSplitter, AbbreviationsEndNoSentence) {
  const auto all = golden_sentences();
  ASSERT_GE(all.size(), 19U);
  for (const auto& [locale, lines] : all) EXPECT_EQ(sentences(locale, fmt::format("{}", fmt::join(lines, " "))), lines);
}

TEST(SentenceSplitter, ALineBreakEndsAnAbbreviation) {
  EXPECT_EQ(sentences("de", "Der Herr Dr.\nMeier"), (std::vector<std::string>{"Der Herr Dr.", "Meier"}));
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
