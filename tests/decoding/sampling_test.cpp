#include "table_model.h"
#include "test_names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dragoman::decoding {
namespace {

using testing::expect_same;
using testing::random_sentences;
using testing::TableModel;

DecodingOptions sampling_options(const SamplingOptions& sampling, std::int32_t samples = 1) {
  return {.strategy = "sampling", .n_best = samples, .sampling = sampling};
}

/// What sampling should draw the first token from, written out for a whole distribution at once.
std::vector<double> cut_distribution(std::vector<double> log_probabilities, const SamplingOptions& sampling) {
  for (double& value : log_probabilities) value /= sampling.temperature;
  std::vector<double> result = testing::log_softmax(log_probabilities);
  for (double& value : result) value = std::exp(value);
  std::vector<std::size_t> order(result.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return result[a] > result[b]; });
  const auto renormalise = [&] {
    const double sum = std::accumulate(result.begin(), result.end(), 0.0);
    for (double& value : result) value /= sum;
  };
  for (std::size_t i = 0; i < order.size(); ++i)
    if (sampling.top_k > 0 && i >= static_cast<std::size_t>(sampling.top_k)) result[order[i]] = 0;
  renormalise();
  double before = 0;
  for (const std::size_t token : order) {
    const double probability = result[token];
    if (before >= sampling.top_p) result[token] = 0;
    before += probability;
  }
  renormalise();
  return result;
}

class SamplingFrequencies : public ::testing::TestWithParam<SamplingOptions> {};

TEST_P(SamplingFrequencies, MatchTheDistribution) {
  TableModel model({.seed = 3, .vocabulary = 8});
  Sentence sentence{.source = {3, 4, 2}};
  const auto expected = cut_distribution(model.distribution(sentence.source, {}), GetParam());
  constexpr int kDraws = 8000;
  const std::vector<Sentence> sentences = [&] {
    std::vector<Sentence> all;
    for (std::uint64_t line = 0; line < kDraws / 4; ++line) {
      sentence.line = line;
      all.push_back(sentence);
    }
    return all;
  }();
  DecodingOptions options = sampling_options(GetParam(), 4);
  options.maximum_length = 1;
  std::vector<int> counts(expected.size(), 0);
  for (const auto& hypotheses : decode_all(model, sentences, options))
    for (const Hypothesis& hypothesis : hypotheses)
      ++counts[static_cast<std::size_t>(hypothesis.tokens.empty() ? TableModel::kEnd : hypothesis.tokens[0])];
  double chi_square = 0;
  int degrees = -1;
  for (std::size_t token = 0; token < expected.size(); ++token) {
    if (expected[token] == 0) {
      EXPECT_EQ(counts[token], 0) << "token " << token << " is cut off";
      continue;
    }
    const double mean = expected[token] * kDraws;
    chi_square += (counts[token] - mean) * (counts[token] - mean) / mean;
    ++degrees;
  }
  // The 99.9 % point of chi-square with up to 7 degrees of freedom.
  const std::vector<double> limits{0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32};
  ASSERT_GE(degrees, 1);
  EXPECT_LT(chi_square, limits[static_cast<std::size_t>(degrees)]);
}

INSTANTIATE_TEST_SUITE_P(Cuts, SamplingFrequencies,
                         ::testing::Values(SamplingOptions{}, SamplingOptions{.temperature = 0.5},
                                           SamplingOptions{.temperature = 2}, SamplingOptions{.top_k = 3},
                                           SamplingOptions{.top_p = 0.6},
                                           SamplingOptions{.temperature = 1.5, .top_k = 5, .top_p = 0.8}),
                         [](const auto& cut) {
                           return dragoman::testing::as_test_name(fmt::format("temperature {} top_k {} top_p {}",
                                                                              cut.param.temperature, cut.param.top_k,
                                                                              cut.param.top_p));
                         });

TEST(Sampling, SameSeedSameResultWhateverTheBatch) {
  TableModel model({.vocabulary = 11});
  auto sentences = random_sentences(30, 6);
  for (const SamplingOptions& sampling : {SamplingOptions{.seed = 5}, SamplingOptions{.top_k = 4, .seed = 5}}) {
    const DecodingOptions options = sampling_options(sampling, 3);
    const auto alone = decode_all(model, sentences, options, LoopLimits{.maximum_rows = 1});
    expect_same(alone, decode_all(model, sentences, options, LoopLimits{.maximum_rows = 17}));
    auto reversed_sentences = sentences;
    std::reverse(reversed_sentences.begin(), reversed_sentences.end());
    auto reversed = decode_all(model, reversed_sentences, options);
    std::reverse(reversed.begin(), reversed.end());
    expect_same(alone, reversed);
  }
}

TEST(Sampling, SeedsLinesAndSamplesDrawDifferently) {
  TableModel model({.vocabulary = 30, .end_bias = -2, .sharpness = 0.5});
  const Sentence sentence{.source = {3, 4, 2}};
  Sentence other_line = sentence;
  other_line.line = 1;
  const auto first = decode_all(model, {sentence, other_line}, sampling_options({.seed = 1}, 2));
  const auto second = decode_all(model, {sentence}, sampling_options({.seed = 2}, 2));
  EXPECT_NE(first[0][0].tokens, first[0][1].tokens);
  EXPECT_NE(first[0][0].tokens, first[1][0].tokens);
  EXPECT_NE(first[0][0].tokens, second[0][0].tokens);
}

TEST(Sampling, TopOneIsGreedy) {
  TableModel model({.vocabulary = 9});
  const auto sentences = random_sentences(20, 5);
  expect_same(decode_all(model, sentences, sampling_options({.top_k = 1})),
              decode_all(model, sentences, {.strategy = "greedy"}));
  const auto cold = decode_all(model, sentences, sampling_options({.temperature = 0.001}));
  const auto greedy = decode_all(model, sentences, {.strategy = "greedy"});
  for (std::size_t i = 0; i < sentences.size(); ++i) EXPECT_EQ(cold[i][0].tokens, greedy[i][0].tokens);
}

TEST(Sampling, ReturnsSamplesBestFirst) {
  TableModel model({.vocabulary = 9});
  for (const auto& hypotheses : decode_all(model, random_sentences(10, 5), sampling_options({}, 6))) {
    ASSERT_EQ(hypotheses.size(), 6U);
    for (std::size_t n = 1; n < hypotheses.size(); ++n) EXPECT_FALSE(better(hypotheses[n], hypotheses[n - 1]));
  }
}

}  // namespace
}  // namespace dragoman::decoding
