#include "golden_rows.h"
#include "test_names.h"
#include "tokenizer_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/count_words.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::pieces_of;

LearnOptions punctuation(std::int32_t size) {
  LearnOptions options{.vocab_size = size};
  options.split_punctuation = true;
  return options;
}

std::vector<std::filesystem::path> punctuation_corpus() {
  return {testing::golden_file("corpus.txt"), testing::golden_file("patterns_corpus.txt")};
}

/// What golden/make_words_golden.py says the golden files were learned with.
LearnOptions punctuation_options(const std::string& name) {
  LearnOptions options = punctuation(560);
  if (name == "punctuation") {
    options.user_symbols = {"<ph>"};
    return options;
  }
  options.split_digits = options.split_case = true;
  options.normalization = Normalization::kNfc;
  options.protected_patterns = {R"(\d+[.,]\d+)", R"(\S+@\S+)"};
  return options;
}

class GoldenPunctuation : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string json() {
    return core::read_file(testing::golden_file(std::string(GetParam()) + ".tokenizer.json"));
  }
};

TEST_P(GoldenPunctuation, GivesTheIdsAndTextsOfHuggingFace) {
  const BpeTokenizer tokenizer = BpeTokenizer::parse(json(), GetParam());
  const core::Json rows = core::load_json(testing::golden_file(std::string(GetParam()) + ".json").string());
  ASSERT_GT(rows.size(), 250U);
  testing::expect_rows(tokenizer, rows);
}

TEST_P(GoldenPunctuation, LearningAgainGivesTheSameFileAndSoDoesReading) {
  EXPECT_EQ(learn_bpe(punctuation_corpus(), punctuation_options(GetParam())).to_json(), json());
  EXPECT_EQ(BpeTokenizer::parse(json(), GetParam()).to_json(), json());
}

TEST_P(GoldenPunctuation, ThreadsAndAMemoryLimitChangeNothing) {
  LearnOptions options = punctuation_options(GetParam());
  for (options.threads = 1; options.threads < 4; ++options.threads)
    EXPECT_EQ(learn_bpe(punctuation_corpus(), options).to_json(), json());
  options.threads = 1;
  options.memory = {.bytes = std::uint64_t{64} << 20, .temporary_folder = std::filesystem::temp_directory_path()};
  EXPECT_EQ(learn_bpe(punctuation_corpus(), options).to_json(), json());
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenPunctuation, ::testing::Values("punctuation", "punctuation_and_all"),
                         dragoman::testing::kParameterName);

TEST(SplitPunctuation, LettersNumbersAndOtherCharactersAreApart) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "trinken. (trinken) 1999, don't\u2026 x1999y\n";
  const BpeTokenizer tokenizer = testing::learn_from(text, punctuation(330));
  EXPECT_THAT(pieces_of(tokenizer, "trinken."), ElementsAre("\u2581trinken", "."));
  EXPECT_THAT(pieces_of(tokenizer, "(trinken)"), ElementsAre("\u2581(", "trinken", ")"));
  EXPECT_THAT(pieces_of(tokenizer, "1999,"), ElementsAre("\u25811999", ","));
  EXPECT_THAT(pieces_of(tokenizer, "don't\u2026"), ElementsAre("\u2581don", "'", "t", "\u2026"));
  EXPECT_THAT(pieces_of(tokenizer, "x1999y"), ElementsAre("\u2581x", "1999", "y"));
}

TEST(SplitPunctuation, CombiningMarksStayWithWhatTheyFollow) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "\u0928\u092E\u0938\u094D\u0924\u0947 1\uFE0F\u20E3 e\u0301te\u0301.\u0301 \u0301a\n";
  const BpeTokenizer tokenizer = testing::learn_from(text, punctuation(340));
  EXPECT_THAT(pieces_of(tokenizer, "\u0928\u092E\u0938\u094D\u0924\u0947"),
              ElementsAre("\u2581\u0928\u092E\u0938\u094D\u0924\u0947"));
  EXPECT_THAT(pieces_of(tokenizer, "1\uFE0F\u20E3"), ElementsAre("\u25811\uFE0F\u20E3"));
  EXPECT_THAT(pieces_of(tokenizer, "e\u0301te\u0301.\u0301"), ElementsAre("\u2581e\u0301te\u0301", ".\u0301"));
  EXPECT_THAT(pieces_of(tokenizer, "\u0301a"), ElementsAre("\u2581\u0301", "a"));
}

TEST(SplitPunctuation, ExtendingWithTheCorpusOfLearningGivesTheLargerSize) {
  const BpeTokenizer small = learn_bpe({testing::golden_file("corpus.txt")}, punctuation(420));
  const auto extended = extend_with_corpus(small.definition(), {testing::golden_file("corpus.txt")}, {.size = 520});
  EXPECT_EQ(BpeTokenizer(extended.definition).to_json(),
            learn_bpe({testing::golden_file("corpus.txt")}, punctuation(520)).to_json());
}

TEST(SplitPunctuation, CountsOfWordsGiveWhatTheTextGives) {
  const testing::TemporaryFolder folder;
  core::OutputFile counts(folder / "counts");
  count_words(punctuation_corpus(), counts, {});
  counts.commit();
  EXPECT_EQ(learn_bpe_from_counts({folder / "counts"}, punctuation(500)).to_json(),
            learn_bpe(punctuation_corpus(), punctuation(500)).to_json());
}

TEST(SplitPunctuation, OtherKindsOfFilesAndOtherOrdersAreRefused) {
  const testing::TemporaryFolder folder;
  const BpeTokenizer tokenizer = testing::learn_from("a. b.\n", punctuation(270));
  for (const FileKind kind : {FileKind::kSentencePiece, FileKind::kSubwordNmt, FileKind::kTiktoken}) {
    try {
      write_tokenizer_file(tokenizer.definition(), kind, folder / "x");
      FAIL() << "no error";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("has no place for cutting at punctuation; write tokenizer-json"));
    }
  }
  LearnOptions plain{.vocab_size = 270};
  EXPECT_THROW(merge_vocabularies(tokenizer.definition(), testing::learn_from("a. b.\n", plain).definition()),
               core::Error);
}

}  // namespace
}  // namespace dragoman::tokenizer
