#include "error_message.h"
#include "golden.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>

namespace dragoman::testing {
namespace {

using evaluation::Bleu;
using evaluation::Chrf;
using evaluation::Score;
using evaluation::Ter;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::unique_ptr<evaluation::Metric>> all_metrics() {
  std::vector<std::unique_ptr<evaluation::Metric>> metrics;
  metrics.push_back(std::make_unique<Bleu>(evaluation::BleuOptions{.lowercase = true}));
  metrics.push_back(
      std::make_unique<Bleu>(evaluation::BleuOptions{.tokenizer = evaluation::BleuTokenizer::kInternational}));
  metrics.push_back(std::make_unique<Chrf>(evaluation::ChrfOptions{.word_order = 2, .lowercase = true}));
  metrics.push_back(std::make_unique<Ter>());
  metrics.push_back(
      std::make_unique<Ter>(evaluation::TerOptions{.normalized = true, .no_punct = true, .asian_support = true}));
  return metrics;
}

TEST(Bleu, clips_counts_as_in_the_paper) {
  // Papineni et al. 2002, section 2.1, example 2: modified unigram precision 2/7.
  const std::vector<std::string> hypothesis{"the the the the the the the"};
  const Streams references{{"The cat is on the mat"}, {"There is a cat on the mat"}};
  const auto counts = count_segments(Bleu({.lowercase = true}), hypothesis, references);
  EXPECT_EQ(counts.row(0)[2], 2);
  EXPECT_EQ(counts.row(0)[6], 7);
}

TEST(Bleu, parts_multiply_to_the_score) {
  const std::vector<double> statistics{6, 8, 5, 3, 1, 0, 6, 5, 4, 3};
  const Bleu bleu;
  const evaluation::BleuParts parts = bleu.parts(statistics);
  EXPECT_DOUBLE_EQ(parts.brevity_penalty, std::exp(1 - 8.0 / 6));
  EXPECT_THAT(parts.precisions, ::testing::ElementsAre(500.0 / 6, 60, 25, 100.0 / (2 * 3)));
  double product = 1;
  for (const double precision : parts.precisions) product *= precision;
  EXPECT_NEAR(parts.score, parts.brevity_penalty * std::pow(product, 0.25), 1e-9);
  EXPECT_EQ(parts.score, bleu.value(statistics));
}

TEST(Ter, counts_a_shift_as_one_edit_as_in_the_paper) {
  // Snover et al. 2006, section 2: 4 edits (1 shift, 2 substitutions, 1 insertion) over 13 words, 31 %.
  const std::string hypothesis = "THIS WEEK THE SAUDIS denied information published in the new york times";
  const std::vector<std::string> reference{
      "SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times"};
  EXPECT_DOUBLE_EQ(sentence_score(Ter(), hypothesis, reference).value, 100.0 * 4 / 13);
}

std::size_t levenshtein(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t substitution = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({substitution, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
    }
  return cost[a.size()][b.size()];
}

std::vector<std::string> random_words(std::uint64_t stream, std::uint64_t kinds) {
  std::vector<std::string> words(core::random_below(20, 1, stream, 0) + 1);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = std::string(1, static_cast<char>('a' + core::random_below(kinds, 2, stream, i)));
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

TEST(Ter, never_needs_more_edits_than_without_shifts_and_exactly_as_many_where_no_word_is_shared) {
  for (std::uint64_t trial = 0; trial < 300; ++trial) {
    const auto hypothesis = random_words(2 * trial, 6);
    const auto reference = random_words(2 * trial + 1, 6);
    const std::size_t plain = levenshtein(hypothesis, reference);
    const std::vector<std::string> text{joined(hypothesis)};
    const auto counts = count_segments(Ter(), text, Streams{{joined(reference)}});
    const auto length_difference =
        std::max(hypothesis.size(), reference.size()) - std::min(hypothesis.size(), reference.size());
    EXPECT_LE(counts.row(0)[0], plain) << text[0] << "/ " << joined(reference);
    EXPECT_GE(counts.row(0)[0], length_difference);
    const auto disjoint = count_segments(Ter(), std::vector<std::string>{"x y z"}, Streams{{joined(reference)}});
    EXPECT_EQ(disjoint.row(0)[0], std::max<std::size_t>(3, reference.size()));
  }
}

TEST(Metric, a_perfect_translation_has_the_best_score) {
  const Streams reference = references(1);
  EXPECT_DOUBLE_EQ(evaluation::corpus_bleu(reference[0], reference).value, 100);
  EXPECT_DOUBLE_EQ(evaluation::corpus_chrf(reference[0], reference).value, 100);
  EXPECT_DOUBLE_EQ(evaluation::corpus_ter(reference[0], reference).value, 0);
}

TEST(Metric, counts_of_two_halves_add_up_to_those_of_the_whole) {
  const std::vector<std::string> text = hypotheses();
  const std::vector<std::string> reference = references(1)[0];
  const auto half = static_cast<std::ptrdiff_t>(text.size() / 2);
  const auto part = [&](const std::vector<std::string>& lines, bool first) {
    return first ? std::vector(lines.begin(), lines.begin() + half) : std::vector(lines.begin() + half, lines.end());
  };
  for (const auto& metric : all_metrics()) {
    std::vector<double> sum = count_segments(*metric, part(text, true), Streams{part(reference, true)}).sum();
    const auto second = count_segments(*metric, part(text, false), Streams{part(reference, false)}).sum();
    std::transform(sum.begin(), sum.end(), second.begin(), sum.begin(), std::plus());
    EXPECT_EQ(sum, count_segments(*metric, text, Streams{reference}).sum()) << metric->name();
  }
}

TEST(Metric, the_order_of_references_matters_to_chrf_alone_where_two_are_equally_good) {
  const Streams both = references(2);
  const Streams swapped{both[1], both[0]};
  for (const auto& metric : all_metrics()) {
    if (metric->name() == "chrF2++") continue;
    EXPECT_DOUBLE_EQ(corpus_score(*metric, hypotheses(), both).value,
                     corpus_score(*metric, hypotheses(), swapped).value)
        << metric->name();
  }
  const std::vector<std::string> unlike{"xyz"};
  EXPECT_EQ(count_segments(Chrf(), unlike, Streams{{"ab"}, {"abcd"}}).row(0)[1], 2);
  EXPECT_EQ(count_segments(Chrf(), unlike, Streams{{"abcd"}, {"ab"}}).row(0)[1], 4);
}

TEST(Metric, the_signature_ends_with_our_version) {
  const Score score = evaluation::corpus_bleu(hypotheses(), references(2));
  EXPECT_THAT(score.signature, StartsWith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:dragoman."));
}

TEST(Metric, different_lengths_are_an_error_that_names_both_counts) {
  const std::vector<std::string> three{"a", "b", "c"};
  const Streams references{{"a", "b", "c"}, {"a", "b"}};
  EXPECT_THAT(error_of([&] { evaluation::corpus_bleu(three, references); }), HasSubstr("3 hypotheses"));
  EXPECT_THAT(error_of([&] { evaluation::corpus_bleu(three, references); }),
              HasSubstr("the 2 segments of reference 2"));
}

TEST(Metric, nothing_to_evaluate_is_an_error) {
  EXPECT_THROW(evaluation::corpus_chrf({}, Streams{{}}), core::Error);
  EXPECT_THROW(evaluation::corpus_ter(hypotheses(), {}), core::Error);
}

TEST(Metric, options_out_of_range_are_errors) {
  EXPECT_THAT(error_of([] { Bleu({.max_order = 0}); }), HasSubstr("is 0"));
  EXPECT_THAT(error_of([] { Bleu({.smoothing = evaluation::BleuSmoothing::kFloor, .smoothing_value = -1.0}); }),
              HasSubstr("-1"));
  EXPECT_THAT(error_of([] { Chrf({.char_order = 0, .word_order = 0}); }), HasSubstr("0"));
  EXPECT_THAT(error_of([] { Chrf({.char_order = -1}); }), HasSubstr("-1"));
  EXPECT_THAT(error_of([] { Chrf({.beta = 0}); }), HasSubstr("beta is 0"));
}

TEST(Metric, ill_formed_utf8_reads_as_the_replacement_character) {
  const std::vector<std::string> broken{"caf\xC3 \xE2\x82 x", "\xFF\xFE", "a \xED\xA0\x80 b"};
  const std::vector<std::string> repaired{"caf\uFFFD \uFFFD x", "\uFFFD\uFFFD", "a \uFFFD\uFFFD\uFFFD b"};
  const Streams reference{{"cafe x y", "\uFFFD", "a b"}};
  for (const auto& metric : all_metrics()) {
    EXPECT_EQ(count_segments(*metric, broken, reference).sum(), count_segments(*metric, repaired, reference).sum())
        << metric->name();
    EXPECT_EQ(count_segments(*metric, reference[0], Streams{broken}).sum(),
              count_segments(*metric, reference[0], Streams{repaired}).sum())
        << metric->name();
  }
}

TEST(Metric, any_bytes_are_scored_between_the_limits) {
  std::vector<std::string> lines(200);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].resize(core::random_below(80, 3, i, 0));
    for (std::size_t j = 0; j < lines[i].size(); ++j) lines[i][j] = static_cast<char>(core::random_below(256, 4, i, j));
  }
  const std::vector<std::string> reversed(lines.rbegin(), lines.rend());
  for (const auto& metric : all_metrics()) {
    const double value = corpus_score(*metric, lines, Streams{reversed}).value;
    EXPECT_TRUE(std::isfinite(value)) << metric->name();
    EXPECT_GE(value, 0) << metric->name();
  }
}

TEST(Metric, very_long_segments_need_little_memory_and_time) {
  // A full matrix of edit distances would take 10 GB.
  std::string hypothesis;
  std::string reference;
  for (int i = 0; i < 50000; ++i) {
    hypothesis += fmt::format("w{} ", i);
    reference += fmt::format("w{} ", i % 100 == 0 ? 1000000 + i : i);
  }
  EXPECT_DOUBLE_EQ(sentence_score(Ter(), hypothesis, std::vector{reference}).value, 1);
}

/// Pairs that are compared one by one and all at once have the same bits.
TEST(Pairwise, equals_sentence_scores_of_all_pairs) {
  std::vector<std::string> texts = hypotheses();
  texts.resize(std::min<std::size_t>(texts.size(), 20));
  texts.insert(texts.end(), {"", "a", "a", "The cat, the hat - and THE bat!", "äöü"});
  std::vector<std::unique_ptr<evaluation::Metric>> metrics;
  metrics.push_back(std::make_unique<evaluation::Chrf>());
  metrics.push_back(std::make_unique<evaluation::Chrf>(
      evaluation::ChrfOptions{.word_order = 2, .lowercase = true, .whitespace = true}));
  metrics.push_back(std::make_unique<evaluation::Chrf>(evaluation::ChrfOptions{.char_order = 0, .word_order = 2}));
  metrics.push_back(std::make_unique<evaluation::Bleu>(evaluation::BleuOptions{.effective_order = true}));
  metrics.push_back(std::make_unique<evaluation::Bleu>(evaluation::BleuOptions{.lowercase = true, .max_order = 2}));
  metrics.push_back(std::make_unique<evaluation::Ter>());
  for (const auto& metric : metrics) {
    const std::vector<double> scores = metric->pairwise(texts);
    ASSERT_EQ(scores.size(), texts.size() * texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i)
      for (std::size_t j = 0; j < texts.size(); ++j)
        EXPECT_EQ(scores[i * texts.size() + j], sentence_score(*metric, texts[i], {&texts[j], 1}).value)
            << metric->name() << ": " << texts[i] << " | " << texts[j];
  }
  EXPECT_TRUE(evaluation::Chrf().pairwise({}).empty());
}

TEST(Metric, the_line_that_a_tokenizer_refuses_is_named) {
  const evaluation::OtherBleuTokenizer short_lines{.name = "short", .separate = [](std::string_view segment) {
                                                     core::require(segment.size() < 3, core::ErrorCode::kBadInput,
                                                                   "too long");
                                                     return std::string(segment);
                                                   }};
  const std::vector<std::string> text{"a", "abc"};
  try {
    evaluation::corpus_bleu(text, Streams{{"a", "b"}}, {.other_tokenizer = short_lines});
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_STREQ(error.what(), "line 2: too long");
  }
  try {
    evaluation::corpus_bleu(std::vector<std::string>{"abc"}, Streams{{"b"}}, {.other_tokenizer = short_lines});
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_STREQ(error.what(), "line 1: too long");
  }
}

/// The memory of one segment has a bound: a file without line ends is refused, not computed in 220 times its size.
TEST(Ter, refuses_segments_of_millions_of_words) {
  std::string text;
  for (int word = 0; word < 3'000'000; ++word) text += "a ";
  try {
    evaluation::corpus_ter(std::vector<std::string>{text}, Streams{{text}});
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("line 1: a segment of 3000000 words"));
  }
}

}  // namespace
}  // namespace dragoman::testing
