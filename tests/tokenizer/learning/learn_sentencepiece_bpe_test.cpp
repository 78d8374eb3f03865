#include "dragoman/tokenizer/learn_sentencepiece_bpe.h"

#include "formats_test_support.h"
#include "test_data.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<UnigramPiece> learn_pieces(const std::string& text, const LearnUnigramOptions& options) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "corpus.txt", text);
  return sentencepiece_pieces(learn_sentencepiece_bpe({folder / "corpus.txt"}, options), "model");
}

std::vector<std::string> learn_texts(const std::string& text, const LearnUnigramOptions& options) {
  std::vector<std::string> texts;
  for (const UnigramPiece& piece : learn_pieces(text, options)) texts.push_back(piece.text);
  return texts;
}

LearnUnigramOptions bpe_options(std::int32_t size) {
  return {.vocab_size = size, .character_coverage = 1, .byte_fallback = false, .normalization = {}};
}

std::string copies_of(const std::string& line, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line + '\n';
  return text;
}

/// The pieces of spm_train: make_learned_spm_bpe_golden.py.
TEST(LearnSentencePieceBpe, LearnsThePiecesOfTheLibrary) {
  const core::Json golden = core::load_json(testing::golden_file("learned_spm_bpe.json"));
  std::string text = core::read_file(testing::golden_file("corpus.txt"), 1 << 20);
  for (const core::Json& line : golden["lines"]) text += line.get<std::string>() + '\n';
  for (const core::Json& variant : golden["variants"]) {
    LearnUnigramOptions options = bpe_options(variant["vocab_size"].get<std::int32_t>());
    const core::Json& theirs = variant["options"];
    options.split_numbers = theirs.value("split_by_number", options.split_numbers);
    options.split_scripts = theirs.value("split_by_unicode_script", options.split_scripts);
    options.split_digits = theirs.value("split_digits", options.split_digits);
    options.normalization.space_as_suffix = theirs.value("treat_whitespace_as_suffix", false);
    options.byte_fallback = theirs.value("byte_fallback", false);
    options.user_symbols = theirs.value("user_defined_symbols", std::vector<std::string>());
    options.max_piece_length = theirs.value("max_sentencepiece_length", options.max_piece_length);
    EXPECT_EQ(learn_texts(text, options), variant["pieces"].get<std::vector<std::string>>()) << variant["name"];
  }
}

/// spm_train --model_type=bpe --vocab_size=11 --user_defined_symbols="<sep>" gives the same.
TEST(LearnSentencePieceBpe, OrdersPiecesLikeTheLibrary) {
  LearnUnigramOptions options = bpe_options(11);
  options.user_symbols = {"<sep>"};
  const auto pieces = learn_pieces(copies_of("ab ab<sep>", 3) + "c\n", options);
  std::vector<std::string> texts;
  for (const UnigramPiece& piece : pieces) texts.push_back(piece.text);
  EXPECT_THAT(texts, ElementsAre("<unk>", "<s>", "</s>", "<sep>", "ab",
                                 "\xE2\x96\x81"
                                 "ab",
                                 "\xE2\x96\x81"
                                 "c",
                                 "\xE2\x96\x81", "a", "b", "c"));
  EXPECT_EQ(pieces[3].type, UnigramPiece::Type::kUserDefined);
  EXPECT_EQ(pieces[3].score, 0);
  for (std::size_t i = 4; i < pieces.size(); ++i) EXPECT_EQ(pieces[i].score, -static_cast<float>(i - 4));
}

TEST(LearnSentencePieceBpe, PiecesCrossScriptsNumbersAndSpacesOnlyOnRequest) {
  const std::string text = copies_of("abc123 ab\xD0\xB6 ab\xD0\xB6 abc123", 9);
  LearnUnigramOptions options = bpe_options(40);
  EXPECT_THAT(learn_texts(text, options), Not(Contains(HasSubstr("c1"))));
  EXPECT_THAT(learn_texts(text, options), Not(Contains(HasSubstr("b\xD0\xB6"))));
  EXPECT_THAT(learn_texts(text, options), Contains("123"));
  options.split_numbers = false;
  EXPECT_THAT(learn_texts(text, options), Contains(HasSubstr("c1")));
  options.split_scripts = false;
  EXPECT_THAT(learn_texts(text, options), Contains(HasSubstr("b\xD0\xB6")));
  const std::string across = "\xD0\xB6" + std::string(kWordMark) + "a";
  EXPECT_THAT(learn_texts(text, options), Not(Contains(HasSubstr(across))));
  options.split_whitespace = false;
  EXPECT_THAT(learn_texts(text, options), Contains(HasSubstr(across)));
  options.split_digits = true;
  EXPECT_THAT(learn_texts(text, options), Not(Contains("12")));
}

TEST(LearnSentencePieceBpe, RunsOfSpacesAreAPieceOnlyOnRequest) {
  const std::string text = copies_of("a    b", 9);
  LearnUnigramOptions options = bpe_options(12);
  options.normalization.dummy_prefix = options.normalization.remove_extra_spaces = false;
  const std::string mark = kWordMark;
  EXPECT_THAT(learn_texts(text, options), Not(Contains(mark + mark)));
  options.whitespace_pieces = true;
  EXPECT_THAT(learn_texts(text, options), Contains(mark + mark));
}

TEST(LearnSentencePieceBpe, TheModelIsReadWithItsNormalisation) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "corpus.txt", copies_of("the tea and the hat", 5));
  LearnUnigramOptions options = bpe_options(300);
  options.byte_fallback = true;
  options.normalization.space_as_suffix = true;
  core::write_file(folder / "m.model", learn_sentencepiece_bpe({folder / "corpus.txt"}, options));
  const auto tokenizer = load_tokenizer(folder / "m.model");
  EXPECT_THAT(testing::pieces_of(*tokenizer, "the hat"), ElementsAre("the\xE2\x96\x81", "hat\xE2\x96\x81"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("the z hat")), "the z hat ");
}

TEST(LearnSentencePieceBpe, ManyThreadsLearnTheSame) {
  const std::string text = core::read_file(testing::golden_file("corpus.txt"), 1 << 20);
  LearnUnigramOptions options = bpe_options(200);
  options.threads = 1;
  const auto one = learn_texts(text, options);
  options.threads = 3;
  EXPECT_EQ(learn_texts(text, options), one);
}

}  // namespace
}  // namespace dragoman::tokenizer
