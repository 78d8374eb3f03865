#include "tokenizer_test_support.h"

#include <numeric>

#include <gtest/gtest.h>

#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/corpus_statistics.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

TEST(Histogram, MeanAndQuantilesByHand) {
  Histogram numbers;
  EXPECT_EQ(numbers.mean(), 0);
  EXPECT_EQ(numbers.quantile(0.5), 0U);
  for (const std::uint64_t value : {4U, 1U, 1U, 2U}) numbers.add(value);
  EXPECT_EQ(numbers.count(), 4U);
  EXPECT_EQ(numbers.mean(), 2);
  EXPECT_EQ(numbers.quantile(0.5), 1U);
  EXPECT_EQ(numbers.quantile(0.51), 2U);
  EXPECT_EQ(numbers.quantile(0.75), 2U);
  EXPECT_EQ(numbers.quantile(0.99), 4U);
  EXPECT_EQ(numbers.quantile(1), 4U);
  EXPECT_EQ(numbers.max(), 4U);
}

TEST(CorpusStatistics, OfAHandfulOfLines) {
  const BpeTokenizer tokenizer = testing::learn_from("ab ab ab ab a b\n", {.vocab_size = 270, .min_frequency = 2});
  ASSERT_EQ(testing::pieces_of(tokenizer, "ab abb é"),
            (std::vector<std::string>{"\u2581ab", "\u2581ab", "b", "\u2581", "<0xC3>", "<0xA9>"}));
  const testing::TemporaryFolder folder;
  core::write_file(folder / "text", "ab abb é\n\n  \nab");
  const CorpusStatistics statistics = measure_corpus(tokenizer, {folder / "text"});
  EXPECT_EQ(statistics.lines, 4U);
  EXPECT_EQ(statistics.words, 4U);
  EXPECT_EQ(statistics.characters, 8U + 2U + 2U);
  EXPECT_EQ(statistics.bytes, 9U + 2U + 2U);
  EXPECT_EQ(statistics.pieces, 6U + 3U + 1U) << "two spaces and the mark in front";
  EXPECT_EQ(statistics.byte_pieces, 2U);
  EXPECT_EQ(statistics.unknown_pieces, 0U);
  EXPECT_EQ(statistics.pieces_per_line.max(), 6U);
  EXPECT_EQ(statistics.pieces_per_line.quantile(0.25), 0U);
  EXPECT_EQ(statistics.pieces_per_word.count(), 4U);
  EXPECT_EQ(statistics.pieces_per_word.max(), 3U) << "the mark belongs to é";
  EXPECT_EQ(statistics.pieces_per_word.mean(), 7.0 / 4);
  EXPECT_EQ(statistics.piece_counts[static_cast<std::size_t>(*tokenizer.id("\u2581ab"))], 3U);
}

TEST(CorpusStatistics, CountTheUnknownToken) {
  const BpeTokenizer tokenizer = testing::learn_from("ab ab\n", {.vocab_size = 20, .byte_fallback = false});
  const testing::TemporaryFolder folder;
  core::write_file(folder / "text", "ab zé\n");
  EXPECT_EQ(measure_corpus(tokenizer, {folder / "text"}).unknown_pieces, 2U);
}

TEST(CorpusStatistics, AreThoseOfEncodingLineByLineForAnyNumberOfThreads) {
  const auto corpus = testing::golden_file("corpus.txt");
  const BpeTokenizer tokenizer = learn_bpe({corpus}, {.vocab_size = 500});
  std::vector<std::uint64_t> expected(500);
  const testing::TemporaryFolder folder;
  std::string large;
  core::LineReader lines(corpus);
  for (std::string line; lines.next(line);) {
    for (const std::int32_t id : tokenizer.encode(line)) expected[static_cast<std::size_t>(id)] += 2000;
    for (int i = 0; i < 1000; ++i) large += line + "\n";
  }
  core::write_file(folder / "large", large);
  for (const int threads : {1, 3}) {
    const CorpusStatistics statistics = measure_corpus(tokenizer, {folder / "large", folder / "large"}, threads);
    EXPECT_EQ(statistics.piece_counts, expected);
    EXPECT_EQ(statistics.lines, 2000 * lines.line_number());
    EXPECT_EQ(statistics.pieces, std::accumulate(expected.begin(), expected.end(), std::uint64_t{0}));
    EXPECT_NEAR(statistics.pieces_per_word.mean(),
                static_cast<double>(statistics.pieces) / static_cast<double>(statistics.words), 1e-9);
  }
}

}  // namespace
}  // namespace dragoman::tokenizer
