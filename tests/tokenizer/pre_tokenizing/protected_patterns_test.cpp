#include "formats_test_support.h"
#include "golden_rows.h"
#include "test_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/batch_encoding.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/comparison.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/offsets.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::pieces_of;

std::string golden_json(const std::string& name) {
  return core::read_file(testing::golden_file(name + ".tokenizer.json"));
}

core::Json golden_rows(const std::string& name) {
  const core::Json golden = core::load_json(testing::golden_file("patterns.json").string());
  for (const core::Json& file : golden["files"])
    if (file["name"] == name) return file["rows"];
  return {};
}

/// What golden/make_patterns_golden.py says the golden files were learned with.
LearnOptions pattern_options(const std::string& name) {
  LearnOptions options{.vocab_size = name == "patterns" ? 600 : name == "case" ? 520 : 500};
  options.split_case = name != "patterns_in_words";
  options.split_digits = name == "patterns_in_words";
  options.escape_marks = false;
  if (name == "patterns") {
    options.user_symbols = {"<ph>"};
    options.protected_patterns = {
        R"(<x id=\d+>)",      R"(https?://\S+)", R"([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", R"([-+]?\d+(?:[.,]\d+)*\b)",
        R"(\p{S} ?[^\S\t]?)", R"(_[^_ ]{1,4}?_)"};
  } else if (name == "patterns_in_words") {
    options.normalization = Normalization::kNfkc;
    options.protected_patterns = {R"((?<!\w)[A-Z]{2,5}\d*(?!\w))", R"(\p{Han}+)",
                                  R"((?<=[a-z])-(?=[a-z])|[#@][^\W\d]\w*)"};
  }
  return options;
}

std::vector<std::filesystem::path> pattern_corpus() {
  return {testing::golden_file("corpus.txt"), testing::golden_file("patterns_corpus.txt")};
}

LearnOptions protecting(std::vector<std::string> patterns, std::int32_t size = 300) {
  LearnOptions options{.vocab_size = size};
  options.protected_patterns = std::move(patterns);
  return options;
}

class GoldenPatterns : public ::testing::TestWithParam<const char*> {
 protected:
  std::string name() const { return GetParam(); }
  BpeTokenizer load() const { return BpeTokenizer::parse(golden_json(name()), name()); }
};

TEST_P(GoldenPatterns, GivesTheIdsAndTextsOfHuggingFace) {
  const BpeTokenizer tokenizer = load();
  const core::Json rows = golden_rows(name());
  ASSERT_GT(rows.size(), 300U);
  testing::expect_rows(tokenizer, rows);
}

TEST_P(GoldenPatterns, LearningAgainGivesTheSameFileAndSoDoesReading) {
  EXPECT_EQ(learn_bpe(pattern_corpus(), pattern_options(name())).to_json(), golden_json(name()));
  EXPECT_EQ(load().to_json(), golden_json(name()));
}

TEST_P(GoldenPatterns, AMemoryLimitChangesNothing) {
  LearnOptions options = pattern_options(name());
  options.threads = 1;
  options.memory = {.bytes = std::uint64_t{64} << 20, .temporary_folder = std::filesystem::temp_directory_path()};
  EXPECT_EQ(learn_bpe(pattern_corpus(), options).to_json(), golden_json(name()));
}

TEST_P(GoldenPatterns, AllWaysToEncodeAgreeAndLoseNothing) {
  const BpeTokenizer tokenizer = load();
  const auto encoder = tokenizer.make_encoder();
  std::vector<std::string> texts;
  for (const core::Json& row : golden_rows(name())) texts.push_back(row["text"].get<std::string>());
  std::mt19937 random(3);
  while (texts.size() < 3000)
    texts.push_back(testing::random_text(random, "aB1. -_=<x id=2>@\xE2\x96\x81\xC3\xFF", 24) + "A-b");
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const auto executor = core::make_executor(2);
  const auto batch = encode_batch(tokenizer, views, *executor);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto expected = tokenizer.encode(texts[i]);
    std::vector<std::int32_t> ids;
    encoder->encode(texts[i], i, ids);
    ASSERT_EQ(ids, expected) << texts[i];
    ASSERT_TRUE(std::ranges::equal(batch[i], expected)) << texts[i];
    std::string streamed;
    const auto decoder = tokenizer.make_decoder();
    for (const std::int32_t id : expected) decoder->decode(id, streamed);
    decoder->finish(streamed);
    ASSERT_EQ(streamed, tokenizer.decode(expected)) << texts[i];
    std::size_t at = 0;
    for (const Piece& piece : tokenizer.encode_pieces(texts[i])) {
      ASSERT_EQ(piece.begin, at) << texts[i];
      at = piece.end;
    }
    ASSERT_EQ(at, texts[i].size()) << texts[i];
    if (texts[i].find("\u2581") == std::string::npos && tokenizer.definition().normalizer().size() == 2) {
      ASSERT_EQ(tokenizer.decode(expected), texts[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenPatterns, ::testing::Values("patterns", "patterns_in_words", "case"),
                         dragoman::testing::kParameterName);

std::string repeated(const std::string& line) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += line + "\n";
  return text;
}

TEST(ProtectedPatterns, NoMergeIsLearnedFromAMatchOrOverItsEnds) {
  const BpeTokenizer tokenizer = testing::learn_from(repeated("ab ab1999ab 1999"), protecting({R"(\d+)"}, 266));
  EXPECT_THAT(pieces_of(tokenizer, "ab1999 99"), ElementsAre("\u2581ab", "1", "9", "9", "9", "\u2581", "9", "9"));
  for (const Merge& merge : tokenizer.definition().merges)
    EXPECT_EQ(tokenizer.piece(merge.result).find_first_of("0123456789"), std::string_view::npos);
}

TEST(ProtectedPatterns, MergesLearnedElsewhereApplyInsideAMatchButNotOverItsEnds) {
  const BpeTokenizer tokenizer = testing::learn_from(repeated("abab xabab @ab"), protecting({"@ab"}, 400));
  EXPECT_THAT(pieces_of(tokenizer, "x@abab"), ElementsAre("\u2581x", "@", "ab", "ab"));
}

TEST(ProtectedPatterns, APatternMayMatchSpacesAndIsThenLearnedFromLines) {
  const std::string text = repeated("<x id=1> id=1 <x id=1>");
  const BpeTokenizer tokenizer = testing::learn_from(text, protecting({R"(<x id=\d>)"}, 400));
  EXPECT_THAT(pieces_of(tokenizer, "<x id=1> id=1"), ElementsAre("\u2581", "<", "x", "\u2581id=1", ">", "\u2581id=1"));
  EXPECT_EQ(tokenizer.definition().inner_cuts().protected_pattern, "<x\u2581id=\\d>");
}

TEST(ProtectedPatterns, SpacesOfAPatternBecomeMarksAndNothingElseDoes) {
  const auto written = [](const std::string& pattern) {
    return testing::learn_from(repeated("a"), protecting({pattern})).definition().inner_cuts().protected_pattern;
  };
  EXPECT_EQ(written(R"(a b\ c\x20d)"), "a\u2581b\u2581c\u2581d");
  EXPECT_EQ(written(R"(a\s\S\w\W\d\D.)"), "a[\\s\u2581][^\\s\u2581]\\w\\W\\d\\D.");
  EXPECT_EQ(written(R"([a ][a-][ a-][^ a][^a][^\s-])"), "[a \u2581][a-][ a\u2581-][^ a\u2581][^a][^\\s\u2581-]");
  EXPECT_EQ(written(R"(\p{Zs}\P{Zs}\p{S}\P{S}\P{L})"),
            "[\\p{Zs}\u2581][^\\p{Zs}\u2581](?:(?!\u2581)\\p{S})[\\P{S}\u2581]\\P{L}");
  EXPECT_EQ(written(R"((?<!\S)a(?=\s))"), "(?<![^\\s\u2581])a(?=[\\s\u2581])");
}

TEST(ProtectedPatterns, WhatStandsFirstWinsWhereSeveralMatch) {
  const std::string text = repeated("see a1b2 now");
  const auto cut = [&](std::vector<std::string> patterns) {
    return pieces_of(testing::learn_from(text, protecting(std::move(patterns), 269)), "a1b2");
  };
  EXPECT_THAT(cut({"a1", "a1b"}), ElementsAre("\u2581", "a", "1", "b", "2"));
  const BpeTokenizer longer = testing::learn_from(repeated("1b2 1b2"), protecting({"a1b", "a1"}, 300));
  EXPECT_THAT(pieces_of(longer, "a1b2").back(), "2");
}

TEST(ProtectedPatterns, CountFilesServePatternsThatStayInWordsAndNoOthers) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "counts", "50\tab\n50\tab1999ab\n50\t1999\n");
  const auto options = protecting({R"((?<!x)\d+(?!x)\b)"}, 266);
  EXPECT_EQ(learn_bpe_from_counts({folder / "counts"}, options).to_json(),
            testing::learn_from(repeated("ab ab1999ab 1999"), options).to_json());
  for (const char* pattern : {"a b", R"(\d+(?=\s))", R"(a\s)", R"([^a])", R"(a.)"})
    EXPECT_THAT(error_of([&] { learn_bpe_from_counts({folder / "counts"}, protecting({pattern})); }),
                HasSubstr("`input`"))
        << pattern;
}

TEST(ProtectedPatterns, OptionsThatContradictThemAreRefused) {
  LearnOptions lower = protecting({});
  lower.split_case = lower.lowercase = true;
  EXPECT_THAT(error_of([&] { testing::learn_from("a", lower); }), HasSubstr("lower-cased"));
}

TEST(ProtectedPatterns, OtherKindsOfFilesAndOtherVocabulariesAreRefusedWithTheReason) {
  const testing::TemporaryFolder folder;
  const BpeDefinition protecting = BpeTokenizer::parse(golden_json("patterns_in_words"), "p").definition();
  const BpeDefinition cased = BpeTokenizer::parse(golden_json("case"), "c").definition();
  for (const FileKind kind : {FileKind::kSubwordNmt, FileKind::kSentencePiece, FileKind::kTiktoken}) {
    EXPECT_THAT(error_of([&] { write_tokenizer_file(protecting, kind, folder / "file"); }),
                ::testing::AllOf(HasSubstr("protected pattern"), HasSubstr("tokenizer-json")));
    EXPECT_THAT(error_of([&] { write_tokenizer_file(cased, kind, folder / "file"); }), HasSubstr("changes of case"));
  }
  EXPECT_THAT(error_of([&] { merge_vocabularies(protecting, cased); }), HasSubstr("differ"));
  EXPECT_TRUE(merge_vocabularies(cased, cased).definition.inner_cuts().letter_case);
  EXPECT_EQ(prune(protecting, std::vector<std::uint64_t>(protecting.pieces.size()), {}).definition.inner_cuts(),
            protecting.inner_cuts());
}

TEST(ProtectedPatterns, WhatAFileMaySayInFrontOfItsWordsIsLimitedAndNamed) {
  const std::string json = golden_json("patterns");
  const auto with = [&](const std::string& old, const std::string& put) {
    std::string changed = json;
    const std::size_t place = changed.find(old);
    EXPECT_NE(place, std::string::npos) << old;
    changed.replace(place, old.size(), put);
    return error_of([&] { BpeTokenizer::parse(changed, "file"); });
  };
  EXPECT_THAT(with("(?:<x", "(?i:<x"),
              ::testing::AllOf(HasSubstr("file.pre_tokenizer.pretokenizers[0]"), HasSubstr("only ASCII characters")));
  EXPECT_THAT(with("(?:<x", "(?:<x){9}{9}(?:"), HasSubstr("a quantifier behind a quantifier"));
  EXPECT_THAT(with(R"((?<=\\p{Ll})(?=\\p{Lu}))", "[a-z]"), HasSubstr("this order"));
  EXPECT_THAT(with("\"Isolated\"", "\"Removed\""), HasSubstr("a pattern other than a String"));
  EXPECT_THAT(with("\"Isolated\",\"invert\":false", "\"Isolated\",\"invert\":true"), HasSubstr("invert"));
}

TEST(ProtectedPatterns, ALineTooLongForAHostilePatternIsAnErrorAndNoHang) {
  BpeDefinition definition = BpeTokenizer::parse(golden_json("case"), "c").definition();
  std::string& pattern =
      std::get<SplitBefore>(std::get<CharacterText>(definition.text).pre_tokenizer).inner.protected_pattern;
  pattern = "(?:(?:a|aa)+(?:a|aa)+(?:a|aa)+)*c";
  const std::string text(200'000, 'a');
  const BpeTokenizer slow_elsewhere(definition);
  EXPECT_EQ(slow_elsewhere.decode(slow_elsewhere.encode(text)), text);
  pattern = "(?:x?a){1,800}b";
  const BpeTokenizer too_much(definition);
  EXPECT_THAT(error_of([&] { too_much.encode(std::string(2'000'000, 'a')); }), HasSubstr("too long for its pattern"));
}

}  // namespace
}  // namespace dragoman::tokenizer
