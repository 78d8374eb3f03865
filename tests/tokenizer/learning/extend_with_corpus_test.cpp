#include "formats_test_support.h"
#include "test_names.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path corpus() {
  return testing::golden_file("corpus.txt");
}

std::string extended(const BpeTokenizer& small, const std::filesystem::path& text, const CorpusExtension& options) {
  return BpeTokenizer(extend_with_corpus(small.definition(), {text}, options).definition).to_json();
}

TEST(CorpusExtension, WithItsOwnCorpusIsWhatLearningThatSizeGives) {
  LearnOptions options;
  options.user_symbols = {"<ph>", "th"};
  options.normalization = Normalization::kNfc;
  options.vocab_size = 650;
  const std::string largest = learn_bpe({corpus()}, options).to_json();
  for (options.vocab_size = 430; options.vocab_size < 650; options.vocab_size += 31)
    ASSERT_EQ(extended(learn_bpe({corpus()}, options), corpus(), {.size = 650}), largest) << options.vocab_size;
}

TEST(CorpusExtension, WithItsOwnCorpusIsWhatLearningGivesInEveryLayoutOfWords) {
  const auto check = [](LearnOptions options) {
    options.vocab_size = 640;
    const std::string largest = learn_bpe({corpus()}, options).to_json();
    options.vocab_size = 500;
    EXPECT_EQ(extended(learn_bpe({corpus()}, options), corpus(),
                       {.size = 640, .character_coverage = options.character_coverage}),
              largest);
  };
  check({.split_digits = true});
  check({.split_case = true});
  check({.lowercase = true});
  check({.byte_fallback = false});
  check({.word_marks = false});
  check({.character_coverage = 0.98});
  LearnOptions in_words;
  in_words.protected_patterns = {"[aeiou]{2}"};
  check(in_words);
  LearnOptions over_spaces;
  over_spaces.protected_patterns = {R"(the \w+)", R"(\w(?=\s))"};
  check(over_spaces);
}

TEST(CorpusExtension, GoesOnFromAnyPlaceOfRandomTexts) {
  LearnOptions options{.min_frequency = 1, .special_tokens = {}, .byte_fallback = false, .word_marks = false};
  const testing::TemporaryFolder folder;
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    std::string text = "ab\n";
    for (int i = 0; i < 40; ++i) text += testing::random_text(random, "ab", 12) + "a\n";
    core::write_file(folder / "text", text);
    options.vocab_size = 60;
    const BpeTokenizer largest = learn_bpe({folder / "text"}, options);
    for (options.vocab_size = 2; options.vocab_size < largest.size(); ++options.vocab_size)
      ASSERT_EQ(extended(learn_bpe({folder / "text"}, options), folder / "text",
                         {.size = largest.size(), .min_frequency = 1}),
                largest.to_json())
          << "seed " << seed << ", size " << options.vocab_size;
  }
}

/// Lines of other words than the corpus has, in the same alphabet and beyond it.
std::string other_text() {
  std::mt19937 random(4);
  std::string text;
  for (int i = 0; i < 400; ++i) text += testing::random_text(random, "the quick brn fx \u00e9\u4e00", 40) + "\n";
  return text;
}

std::set<std::size_t> cuts(const std::vector<Piece>& pieces) {
  std::set<std::size_t> places;
  for (const Piece& piece : pieces) places.insert(piece.end);
  return places;
}

/// What every extension without new characters must keep: the old pieces with their ids, and all cuts between pieces
/// that are still there.
void expect_goes_on(const BpeTokenizer& small, const BpeTokenizer& large, const std::vector<std::string>& lines) {
  const auto& old_pieces = small.definition().pieces;
  ASSERT_GT(large.size(), small.size());
  EXPECT_TRUE(std::equal(old_pieces.begin(), old_pieces.end(), large.definition().pieces.begin()));
  std::size_t before = 0;
  std::size_t after = 0;
  for (const std::string& line : lines) {
    const auto pieces = small.encode_pieces(line);
    const auto joined = large.encode_pieces(line);
    const auto old_cuts = cuts(pieces);
    EXPECT_TRUE(std::ranges::includes(old_cuts, cuts(joined))) << line;
    EXPECT_EQ(large.decode(large.encode(line)), small.decode(small.encode(line)));
    const bool only_old = std::ranges::all_of(joined, [&](const Piece& piece) { return piece.id < small.size(); });
    if (only_old) {
      EXPECT_EQ(joined, pieces) << line;
    }
    before += pieces.size();
    after += joined.size();
  }
  EXPECT_LT(after, before);
}

class ExtendedFile : public ::testing::TestWithParam<const char*> {};

TEST_P(ExtendedFile, KeepsItsIdsAndItsCuts) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "text", other_text());
  const BpeTokenizer small(read_tokenizer_file(testing::golden_file(GetParam())));
  const VocabularyEdit edit = extend_with_corpus(small.definition(), {folder / "text"},
                                                 {.size = small.size() + 60, .character_coverage = 0.01});
  for (std::size_t id = 0; id < edit.new_ids.size(); ++id)
    ASSERT_EQ(edit.new_ids[id], static_cast<std::int32_t>(id)) << "no old id changes";
  const BpeTokenizer large = BpeTokenizer::parse(BpeTokenizer(edit.definition).to_json(), "large");
  EXPECT_EQ(large.size(), small.size() + 60);
  std::vector<std::string> lines = testing::lines_of(folder / "text");
  std::ranges::copy(testing::lines_of(corpus()), std::back_inserter(lines));
  expect_goes_on(small, large, lines);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExtendedFile,
                         ::testing::Values("default.tokenizer.json", "nfkc.tokenizer.json", "digits.tokenizer.json",
                                           "byte_level_plain.tokenizer.json", "byte_level_prefix.tokenizer.json",
                                           "byte_level_cl100k_variant.tokenizer.json", "gpt2.vocab.json",
                                           "subword_nmt.codes02", "sentencepiece_plain.model",
                                           "sentencepiece_across_words.model", "precompiled_first.tokenizer.json",
                                           "youtokentome.model"),
                         dragoman::testing::kParameterName);

TEST(CorpusExtension, GivesNewCharactersPiecesAndLearnsFromThem) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "text", "\u10D3\u10D0 \u10D3\u10D0 \u10D3\u10D0 \u10DC\u10D4\u10E2 the\n");
  const BpeTokenizer small = learn_bpe({corpus()}, {.vocab_size = 450, .character_coverage = 0.9});
  ASSERT_FALSE(small.id("\u10D3")) << "or there is nothing to test";
  const auto pieces_after = [&](const CorpusExtension& options) {
    const VocabularyEdit edit = extend_with_corpus(small.definition(), {folder / "text"}, options);
    const auto& pieces = edit.definition.pieces;
    return std::vector<std::string>(pieces.begin() + small.size(), pieces.end());
  };
  EXPECT_THAT(pieces_after({.size = 457}),
              ElementsAre("\u10D0", "\u10D3", "\u10D4", "\u10DC", "\u10E2", "\u2581\u10D3", "\u2581\u10D3\u10D0"));
  EXPECT_THAT(pieces_after({.size = 454, .character_coverage = 0.7}),
              ElementsAre("\u10D0", "\u10D3", "\u2581\u10D3", "\u2581\u10D3\u10D0"));
  EXPECT_THAT(testing::error_of([&] { pieces_after({.size = 454}); }),
              HasSubstr("a vocabulary of 454 is too small: 450 pieces and 5 new characters need at least 455"));
  EXPECT_THAT(testing::error_of([&] { pieces_after({.size = 454, .character_coverage = 0}); }), HasSubstr("above 0"));
}

TEST(CorpusExtension, DoesNotDependOnThreads) {
  const BpeTokenizer small = learn_bpe({corpus()}, {.vocab_size = 450});
  const std::string alone = extended(small, corpus(), {.size = 640, .threads = 1});
  for (const int threads : {2, 7}) EXPECT_EQ(extended(small, corpus(), {.size = 640, .threads = threads}), alone);
}

TEST(CorpusExtension, MakesNoTokenOutOfText) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "text", "x<2de>y <2de> <2de> <ph> <ph> <ph>\n");
  const BpeTokenizer small = learn_bpe({folder / "text"}, {.vocab_size = 270});
  const VocabularyEdit tokens = extend(small.definition(), {"<2de>"}, {"<ph>"});
  const VocabularyEdit edit =
      extend_with_corpus(tokens.definition, {folder / "text"}, {.size = 300, .min_frequency = 1});
  const auto& pieces = edit.definition.pieces;
  EXPECT_EQ(std::ranges::count(pieces, "<2de>"), 1);
  EXPECT_EQ(std::ranges::count_if(pieces, [](const std::string& piece) { return piece.find("<ph") < 9; }), 1)
      << "a user symbol is no text to learn from";
  EXPECT_NO_THROW(BpeTokenizer(edit.definition));
}

TEST(CorpusExtension, SaysWhatItCannotDo) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "empty", "\n");
  const BpeTokenizer small = learn_bpe({corpus()}, {.vocab_size = 450});
  const auto error = [&](const std::vector<std::filesystem::path>& files, const CorpusExtension& options) {
    return testing::error_of([&] { extend_with_corpus(small.definition(), files, options); });
  };
  EXPECT_THAT(error({corpus()}, {.size = 450}),
              HasSubstr("has 450 pieces already; ask for more than that, not for 450"));
  EXPECT_THAT(error({}, {.size = 500}), HasSubstr("no file"));
  EXPECT_THAT(error({corpus()}, {.size = 500, .threads = -1}), HasSubstr("threads is -1"));
  EXPECT_THAT(error({folder / "empty"}, {.size = 500}), HasSubstr("empty: no words to learn from"));
  EXPECT_THAT(error({folder / "none"}, {.size = 500}), HasSubstr("none"));
  const BpeDefinition mapped = read_tokenizer_file(testing::golden_file("sentencepiece_bpe_map.model"));
  EXPECT_THAT(testing::error_of([&] { extend_with_corpus(mapped, {corpus()}, {.size = 500}); }),
              HasSubstr("cannot be edited"));
}

TEST(CorpusExtension, WarnsWhenThePairsRunOut) {
  const BpeTokenizer small = learn_bpe({corpus()}, {.vocab_size = 450});
  std::string said;
  extend_with_corpus(small.definition(), {corpus()}, {.size = 1'000'000}, {},
                     [&](core::LogLevel, std::string_view message) { said += message; });
  EXPECT_THAT(said, HasSubstr("no further pair that occurs 2 times"));
}

/// A word that is a piece without a rule is encoded as that piece. A rule for the piece that is learned must not take
/// the next word for a part of it.
TEST(CorpusExtension, JoinsNoWordsThatArePiecesWithoutRules) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "t.json", R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null,
    "decoder": {"type": "BPEDecoder", "suffix": "</w>"}, "model": {"type": "BPE", "dropout": null, "unk_token": null,
    "continuing_subword_prefix": null, "end_of_word_suffix": "</w>", "fuse_unk": false, "byte_fallback": false,
    "ignore_merges": true, "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "x</w>": 4, "ab": 5, "cd": 6}, "merges": []}})");
  std::string text;
  const auto add = [&](const char* word, int count) {
    for (int i = 0; i < count; ++i) text += word;
  };
  add("ab\n", 50);
  add("cd\n", 49);
  add("abx\n", 48);
  add("cdx\n", 47);
  core::write_file(folder / "text", text);
  const auto extension =
      extend_with_corpus(BpeTokenizer::load(folder / "t.json").definition(), {folder / "text"}, {.size = 10});
  EXPECT_THAT(extension.definition.pieces, ElementsAre("a", "b", "c", "d", "x</w>", "ab", "cd", "abx</w>", "cdx</w>"));
}

}  // namespace
}  // namespace dragoman::tokenizer
