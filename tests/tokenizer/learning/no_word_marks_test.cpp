#include "error_message.h"
#include "golden_rows.h"
#include "tokenizer_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::learn_from;
using testing::pieces_of;

LearnOptions without_marks(std::int32_t vocab_size) {
  return {.vocab_size = vocab_size, .word_marks = false, .spaces_apart = true};
}

LearnOptions bare_without_marks(std::int32_t vocab_size) {
  LearnOptions options = without_marks(vocab_size);
  options.special_tokens = {};
  options.byte_fallback = false;
  options.min_frequency = 1;
  return options;
}

/// What golden/make_words_golden.py says the file was learned with.
BpeTokenizer learn_golden(std::int32_t vocab_size) {
  LearnOptions options = without_marks(vocab_size);
  options.user_symbols = {"<ph>"};
  return learn_bpe({testing::golden_file("corpus.txt")}, options);
}

TEST(NoWordMarks, WorkedExampleOfTheLiterature) {
  // a = 0 ... d = 3; the pair (a, b) occurs three times, more than any other, and becomes 4.
  const BpeTokenizer tokenizer = learn_from("abababcd\n", bare_without_marks(5));
  EXPECT_EQ(tokenizer.definition().pieces, (std::vector<std::string>{"a", "b", "c", "d", "ab"}));
  EXPECT_THAT(tokenizer.encode("abababcd"), ElementsAre(4, 4, 4, 2, 3));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{4, 4, 4, 2, 3}), "abababcd");
}

TEST(NoWordMarks, WordsStandBetweenSpacesAndSpacesByThemselves) {
  // In each of four lines: a 3, b 3, space 3; (a, b) three times. Across spaces (b, space) would be as frequent.
  const std::string line = "ab ab  ab\n";
  const BpeTokenizer tokenizer = learn_from(line + line + line + line, bare_without_marks(20));
  EXPECT_EQ(tokenizer.definition().pieces, (std::vector<std::string>{"a", "b", "\u2581", "ab"}))
      << "no merge holds a space";
  EXPECT_THAT(pieces_of(tokenizer, " ab  ba "), ElementsAre("\u2581", "ab", "\u2581", "\u2581", "b", "a", "\u2581"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(" ab  ba ")), " ab  ba ");
}

TEST(NoWordMarks, TextBehindAUserSymbolHasNoMarkEither) {
  LearnOptions options = bare_without_marks(20);
  options.user_symbols = {"<ph>"};
  const BpeTokenizer tokenizer = learn_from("ab<ph>ab <ph> ab\n", options);
  EXPECT_THAT(pieces_of(tokenizer, "ab<ph>ab <ph> ab"),
              ElementsAre("ab", "<ph>", "ab", "\u2581", "<ph>", "\u2581", "ab"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab<ph>ab <ph> ab")), "ab<ph>ab <ph> ab");
}

TEST(NoWordMarks, ATextWithASpaceIsRefusedByAVocabularyThatHasNone) {
  const BpeTokenizer tokenizer = learn_from("abababcd\n", bare_without_marks(5));
  EXPECT_THAT(testing::error_of([&] { tokenizer.encode("ab ab"); }), HasSubstr("U+2581, which stands for a space"));
}

TEST(NoWordMarks, GivesTheIdsAndTextsOfHuggingFace) {
  const std::string json = core::read_file(testing::golden_file("no_word_marks.tokenizer.json"));
  const BpeTokenizer tokenizer = BpeTokenizer::parse(json, "no_word_marks");
  const core::Json rows = core::load_json(testing::golden_file("no_word_marks.json").string());
  ASSERT_GT(rows.size(), 250U);
  testing::expect_rows(tokenizer, rows);
  EXPECT_EQ(tokenizer.to_json(), json);
  EXPECT_EQ(learn_golden(480).to_json(), json);
}

TEST(NoWordMarks, ExtendingWithTheCorpusOfLearningGivesTheLargerSize) {
  const auto extended =
      extend_with_corpus(learn_golden(430).definition(), {testing::golden_file("corpus.txt")}, {.size = 480});
  EXPECT_EQ(BpeTokenizer(extended.definition).to_json(), learn_golden(480).to_json());
}

TEST(NoWordMarks, WhatNeedsWordsAloneIsRefusedWithTheReason) {
  LearnOptions options = without_marks(300);
  options.min_word_count = 2;
  EXPECT_THAT(testing::error_of([&] { learn_from("ab\n", options); }),
              AllOf(HasSubstr("word marks"), HasSubstr("`min_word_count`")));
  EXPECT_THAT(testing::error_of([&] { learn_bpe_from_counts({"words.counts"}, without_marks(300)); }),
              AllOf(HasSubstr("count files"), HasSubstr("`input`")));
  options = without_marks(300);
  options.word_marks = true;
  EXPECT_THAT(testing::error_of([&] { learn_from("ab\n", options); }), HasSubstr("word marks"));
}

}  // namespace
}  // namespace dragoman::tokenizer
