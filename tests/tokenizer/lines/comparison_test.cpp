#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/comparison.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;

class ComparisonTest : public ::testing::Test {
 protected:
  Comparison compare(const Tokenizer& first, const Tokenizer& second, const std::vector<std::string>& lines,
                     LineFormat format = LineFormat::kPieces, std::size_t shown = 10) {
    testing::write_lines(folder_ / "corpus", lines);
    LineCodingOptions options;
    options.format = format;
    return compare_tokenizers(first, second, folder_ / "corpus", options, shown);
  }
  testing::TemporaryFolder folder_;
  const BpeTokenizer ab_ = testing::make_plain_bpe("abc", {{"a", "b"}, {"b", "c"}});
  const BpeTokenizer bc_ = testing::make_plain_bpe("abc", {{"b", "c"}, {"a", "b"}});
};

TEST_F(ComparisonTest, NamesTheLinesAndBothSegmentations) {
  const Comparison result = compare(ab_, bc_, {"ab", "abc", "", "cabc", "abc"}, LineFormat::kPieces, 2);
  EXPECT_EQ(result.lines, 5U);
  EXPECT_EQ(result.different, 3U);
  ASSERT_EQ(result.differences.size(), 2U);
  EXPECT_EQ(result.differences[0].line, 2U);
  EXPECT_EQ(result.differences[0].first, "ab c");
  EXPECT_EQ(result.differences[0].second, "a bc");
  EXPECT_EQ(result.differences[1].line, 4U);
}

TEST_F(ComparisonTest, EqualPiecesCanHaveDifferentIds) {
  EXPECT_EQ(compare(ab_, bc_, {"ab", "bc"}).different, 0U);
  EXPECT_EQ(compare(ab_, bc_, {"ab", "bc"}, LineFormat::kIds).different, 2U);
}

TEST_F(ComparisonTest, ALineThatOneCannotEncodeIsADifference) {
  const BpeTokenizer abcd = testing::make_plain_bpe("abcd", {});
  const Comparison result = compare(ab_, abcd, {"a", "d"});
  EXPECT_EQ(result.different, 1U);
  EXPECT_THAT(result.differences[0].first, HasSubstr("U+0064"));
  EXPECT_EQ(result.differences[0].second, "d");
}

// Lines of pieces have the text of an unknown token, but not of every kind of file.
TEST_F(ComparisonTest, UnknownPiecesAreEqualToEachOtherAndToNothingElse) {
  const std::filesystem::path model = testing::golden_file("learned_unigram_plain.model");
  auto definition = std::get<UnigramDefinition>(read_any_tokenizer_file(model));
  write_tokenizer_file(definition, FileKind::kTokenizerJson, folder_ / "t.json");
  const auto converted = load_tokenizer(folder_ / "t.json");
  const UnigramTokenizer original(definition);
  for (const LineFormat format : {LineFormat::kPieces, LineFormat::kIds})
    EXPECT_EQ(compare(original, *converted, {"\u4e2d", "the \u4e2d\u4e2d cat"}, format).different, 0U);
  definition.pieces.push_back({.text = "\u4e2d", .score = -1});
  const Comparison result = compare(original, UnigramTokenizer(definition), {"\u4e2d"});
  ASSERT_EQ(result.differences.size(), 1U);
  EXPECT_THAT(result.differences[0].first, HasSubstr("<unk>"));
  EXPECT_THAT(result.differences[0].second, HasSubstr("\u4e2d"));
}

TEST_F(ComparisonTest, ConvertedFilesAreEqual) {
  const auto corpus = testing::lines_of(testing::golden_file("corpus.txt"));
  write_tokenizer_file(read_tokenizer_file(testing::golden_file("sentencepiece_plain.model")), FileKind::kTokenizerJson,
                       folder_ / "t.json");
  EXPECT_EQ(compare(*load_tokenizer(testing::golden_file("sentencepiece_plain.model")),
                    *load_tokenizer(folder_ / "t.json"), corpus, LineFormat::kIds)
                .different,
            0U);
}

}  // namespace
}  // namespace dragoman::tokenizer
