#include "error_message.h"
#include "golden_rows.h"
#include "tokenizer_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using testing::pieces_of;

BpeTokenizer digits_golden() {
  return BpeTokenizer::load(testing::golden_file("digits.tokenizer.json"));
}

/// golden/make_digits_golden.py wrote what Hugging Face tokenizers makes of the tokenizer file beside it.
TEST(SplitDigits, GivesTheIdsAndTextsOfHuggingFace) {
  const BpeTokenizer tokenizer = digits_golden();
  const core::Json rows = core::load_json(testing::golden_file("digits.json").string());
  ASSERT_GT(rows.size(), 200U);
  testing::expect_rows(tokenizer, rows);
}

TEST(SplitDigits, LearningAgainGivesTheSameFileAndSoDoesReading) {
  LearnOptions options{.vocab_size = 500, .user_symbols = {"<ph>"}};
  options.split_digits = true;
  options.escape_marks = false;
  const std::string file = core::read_file(testing::golden_file("digits.tokenizer.json"));
  EXPECT_EQ(learn_bpe({testing::golden_file("corpus.txt")}, options).to_json(), file);
  EXPECT_EQ(digits_golden().to_json(), file);
}

TEST(SplitDigits, NoPieceHoldsADigitAndMore) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "in 1999 und 2011 x12y 1999\n";
  LearnOptions options{.vocab_size = 300};
  options.split_digits = true;
  const BpeTokenizer tokenizer = testing::learn_from(text, options);
  EXPECT_THAT(pieces_of(tokenizer, "in 19x"), ElementsAre("\u2581in", "\u2581", "1", "9", "x"));
  for (const Merge& merge : tokenizer.definition().merges)
    EXPECT_EQ(tokenizer.piece(merge.result).find_first_of("0123456789"), std::string_view::npos);
  options.word_marks = false;
  const BpeTokenizer lines = testing::learn_from(text, options);
  EXPECT_EQ(BpeTokenizer::parse(lines.to_json(), "again").to_json(), lines.to_json());
  for (const Merge& merge : lines.definition().merges)
    EXPECT_EQ(lines.piece(merge.result).find_first_of("0123456789"), std::string_view::npos);
}

TEST(SplitDigits, AnEncoderThatRemembersWordsSplitsThemToo) {
  LearnOptions options{.vocab_size = 500};
  options.split_digits = true;
  const BpeTokenizer tokenizer = learn_bpe({testing::golden_file("corpus.txt")}, options);
  const auto encoder = tokenizer.make_encoder();
  std::mt19937 random(1);
  for (std::uint64_t line = 0; line < 3000; ++line) {
    const std::string text = testing::random_text(random, "12 3the  x", 20) + (line % 3 == 0 ? "\u00B2\u0663" : "\xFF");
    std::vector<std::int32_t> ids;
    encoder->encode(text, line, ids);
    ASSERT_EQ(ids, tokenizer.encode(text)) << text;
    ASSERT_EQ(tokenizer.decode(ids), text);
    std::size_t at = 0;
    for (const Piece& piece : tokenizer.encode_pieces(text)) {
      ASSERT_EQ(piece.begin, at);
      at = piece.end;
    }
    ASSERT_EQ(at, text.size());
  }
}

std::string digits_error(const std::string& json) {
  return testing::error_of([&] { BpeTokenizer::parse(json, "digits"); });
}

TEST(SplitDigits, OtherWaysToSplitDigitsAreRefused) {
  std::string json = core::read_file(testing::golden_file("digits.tokenizer.json"));
  const auto with = [&](const std::string& old, const std::string& put) {
    std::string changed = json;
    const std::size_t place = changed.find(old);
    EXPECT_NE(place, std::string::npos) << old;
    return changed.replace(place, old.size(), put);
  };
  EXPECT_THAT(digits_error(with("\"individual_digits\":true", "\"individual_digits\":false")),
              ::testing::HasSubstr("individual_digits"));
  EXPECT_THAT(digits_error(with("\"MergedWithNext\"", "\"Removed\"")), ::testing::HasSubstr("splitting digits"));
  EXPECT_THAT(digits_error(with("\"type\":\"Split\"", "\"type\":\"Punctuation\"")),
              ::testing::HasSubstr("'Punctuation' in a sequence"));
}

}  // namespace
}  // namespace dragoman::tokenizer
