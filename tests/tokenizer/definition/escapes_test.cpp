#include "definition/escapes.h"

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
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::pieces_of;

BpeTokenizer escapes_golden() {
  return BpeTokenizer::load(testing::golden_file("escapes.tokenizer.json"));
}

LearnOptions golden_options() {
  return {
      .vocab_size = 520, .special_tokens = {"<unk>", "<s>", "</s>", "\u266A", "t"}, .user_symbols = {"<ph>", "\u2423"}};
}

/// golden/make_words_golden.py wrote what Hugging Face tokenizers makes of the tokenizer file beside it.
TEST(Escapes, GiveTheIdsAndTextsOfHuggingFace) {
  const BpeTokenizer tokenizer = escapes_golden();
  const core::Json rows = core::load_json(testing::golden_file("escapes.json").string());
  ASSERT_GT(rows.size(), 250U);
  testing::expect_rows(tokenizer, rows);
  for (const core::Json& row : rows) EXPECT_EQ(row["decoded"], row["text"]);
}

TEST(Escapes, LearningAgainGivesTheSameFileAndSoDoesReading) {
  const std::string file = core::read_file(testing::golden_file("escapes.tokenizer.json"));
  EXPECT_EQ(learn_bpe({testing::golden_file("corpus.txt")}, golden_options()).to_json(), file);
  EXPECT_EQ(escapes_golden().to_json(), file);
}

TEST(Escapes, OneCharacterInATextIsNoSpecialTokenUnlessAskedFor) {
  const BpeTokenizer tokenizer = escapes_golden();
  ASSERT_EQ(tokenizer.id("\u266A"), 3);
  const auto plain = tokenizer.encode("\u266A la");
  EXPECT_THAT(plain, Not(Contains(3)));
  EXPECT_EQ(tokenizer.decode(plain), "\u266A la");
  const auto matched = tokenizer.encode("\u266A la", {.match_special_tokens = true});
  EXPECT_EQ(matched.front(), 3);
  EXPECT_EQ(tokenizer.decode(matched), " la");
}

TEST(Escapes, WhatIsEscapedIsLearnedLikeOtherText) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "\u2581\u2581 a\u2581b\n";
  const BpeTokenizer tokenizer = testing::learn_from(text, {.vocab_size = 300, .special_tokens = {"<unk>"}});
  EXPECT_THAT(pieces_of(tokenizer, "\u2581"), ElementsAre("\u2581\u241B\u2423"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("\u2581\u2581 a\u2581b")), "\u2581\u2581 a\u2581b");
}

TEST(Escapes, LearningWithinALimitOfMemoryAndFromCountsGivesTheSame) {
  const testing::TemporaryFolder folder;
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += testing::random_text(random, "abcdefgh", 7);
    if (i % 50 == 0) text += i % 100 == 0 ? "\u2581x\u241B" : "\u266A";
    text += i % 9 == 0 ? "\n" : " ";
  }
  core::write_file(folder / "corpus.txt", text);
  LearnOptions options{.vocab_size = 400, .special_tokens = {"<unk>", "\u266A"}};
  options.threads = 1;
  const std::string expected = learn_bpe({folder / "corpus.txt"}, options).to_json();
  options.memory = {.bytes = std::uint64_t{60} << 20, .temporary_folder = folder.path()};
  EXPECT_EQ(learn_bpe({folder / "corpus.txt"}, options).to_json(), expected);
}

TEST(Escapes, ThereIsOneMoreForATokenThatIsAddedLater) {
  const BpeTokenizer tokenizer = testing::learn_from("the river\nthe song\n", {.vocab_size = 280});
  const BpeTokenizer extended(extend(tokenizer.definition(), {"\u266A"}, {}).definition);
  EXPECT_TRUE(extended.is_special(*extended.id("\u266A")));
  for (const char* text : {"\u266A the \u266A", "\u2581\u241B\u266A", "\u241B\u2400"})
    EXPECT_EQ(extended.decode(extended.encode(text)), text);
  EXPECT_EQ(extended.encode("the river"), tokenizer.encode("the river"));
  EXPECT_EQ(BpeTokenizer::parse(extended.to_json(), "again").to_json(), extended.to_json());
}

TEST(Escapes, AVocabularyWithoutThemCannotTakeATokenOfOneCharacter) {
  LearnOptions options{.vocab_size = 280};
  options.escape_marks = false;
  const BpeTokenizer tokenizer = testing::learn_from("the river\nthe song\n", options);
  try {
    extend(tokenizer.definition(), {"\u266A"}, {});
    FAIL() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'\u266A' is a single character"), HasSubstr("learn a vocabulary")));
  }
}

TEST(Escapes, SentencePieceGetsTheVocabularyWithoutThatOfTheMark) {
  const testing::TemporaryFolder folder;
  LearnOptions options{.vocab_size = 300};
  const BpeTokenizer tokenizer = testing::learn_from("the river (the song)\nthe song\n", options);
  EXPECT_THAT(difference_when_written(tokenizer.definition(), FileKind::kSentencePiece), HasSubstr("no escape"));
  EXPECT_EQ(difference_when_written(tokenizer.definition(), FileKind::kTokenizerJson), "");
  write_tokenizer_file(tokenizer.definition(), FileKind::kSentencePiece, folder / "spm.model");
  const auto model = open_tokenizer_file(folder / "spm.model");
  EXPECT_EQ(model->encode("the  river é"), tokenizer.encode("the  river é"));
  EXPECT_EQ(model->decode(model->encode("a\u2581b")), "a b");
  options.special_tokens.emplace_back("\u266A");
  const BpeTokenizer with_token = testing::learn_from("the river (the song)\nthe song\n", options);
  EXPECT_THROW(write_tokenizer_file(with_token.definition(), FileKind::kSentencePiece, folder / "x.model"),
               core::Error);
}

std::string escapes_error(const std::string& json) {
  return testing::error_of([&] { BpeTokenizer::parse(json, "escapes"); });
}

TEST(Escapes, OtherReplacementsBehindFuseAreRefused) {
  const std::string json = core::read_file(testing::golden_file("escapes.tokenizer.json"));
  const auto with = [&](const std::string& old, const std::string& put) {
    std::string changed = json;
    const std::size_t place = changed.rfind(old, changed.find("\"model\""));
    EXPECT_NE(place, std::string::npos) << old;
    return changed.replace(place, old.size(), put);
  };
  const std::string of_mark = R"({"String":"␛␣"},"content":"▁"})";
  const std::string of_itself = R"({"String":"␛␚"},"content":"␛"})";
  EXPECT_EQ(escapes_error(with(of_mark, of_mark)), "no error");
  EXPECT_THAT(escapes_error(with(of_mark, R"({"String":"␛x"},"content":"▁"})")), HasSubstr("this Replace after Fuse"));
  EXPECT_THAT(escapes_error(with(of_mark, R"({"String":"␣"},"content":"▁"})")), HasSubstr("this Replace after Fuse"));
  EXPECT_THAT(escapes_error(with(of_mark, R"({"String":"␛␣"},"content":"▁▁"})")), HasSubstr("this Replace after Fuse"));
  EXPECT_THAT(escapes_error(with(of_mark, R"({"String":"␛␣"},"content":"␛"})")), HasSubstr("this Replace after Fuse"));
  EXPECT_THAT(escapes_error(with(of_mark, of_itself)), HasSubstr("this Replace after Fuse")) << "itself comes last";
}

}  // namespace
}  // namespace dragoman::tokenizer
