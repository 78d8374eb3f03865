#include "dragoman/decoding/token_search.h"

#include "table_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace dragoman::decoding {
namespace {

using testing::random_sentences;
using testing::TableModel;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kVocabularySize = 6;

std::vector<std::vector<Hypothesis>> search(TableModel& model, std::vector<Sentence> sentences,
                                            const DecodingOptions& options, const TokenSearch& additions) {
  return decode_all(model, sentences, make_token_search(options, additions));
}

/// The probabilities of the first token of a sampling, by its definition.
std::vector<double> first_probabilities(const TableModel& model, const Ids& source, const WeightedSampling& sampling) {
  const std::vector<double> logs = model.distribution(source, {});
  std::vector<std::size_t> order(logs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return logs[a] > logs[b]; });
  if (sampling.top_k > 0) order.resize(static_cast<std::size_t>(sampling.top_k));
  double total = 0;
  for (const std::size_t token : order) total += std::exp(logs[token] / sampling.temperature);
  std::vector<double> probabilities(logs.size(), 0);
  double before = 0, kept = 0;
  for (const std::size_t token : order) {
    const double probability = std::exp(logs[token] / sampling.temperature) / total;
    if (before < sampling.top_p) kept += probabilities[token] = probability;
    before += probability;
  }
  for (double& probability : probabilities) probability /= kept;
  return probabilities;
}

TEST(WeightedSampling, DrawsFromTheDistributionOfItsDefinition) {
  constexpr int kSamples = 4000;
  TableModel model({.vocabulary = kVocabularySize});
  const auto sentences = random_sentences(3, 5);
  for (const WeightedSampling sampling :
       {WeightedSampling{}, WeightedSampling{.top_k = 3, .temperature = 0.7},
        WeightedSampling{.top_p = 0.6, .temperature = 1.5}, WeightedSampling{.top_k = 4, .top_p = 0.8, .seed = 5}}) {
    const auto found = search(model, sentences, {.strategy = "sampling", .n_best = kSamples, .maximum_length = 2},
                              {.sampling = sampling});
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const auto expected = first_probabilities(model, sentences[i].source, sampling);
      std::vector<double> counts(kVocabularySize, 0);
      ASSERT_EQ(found[i].size(), static_cast<std::size_t>(kSamples));
      for (const Hypothesis& sample : found[i])
        ++counts[static_cast<std::size_t>(sample.tokens.empty() ? sample.end : sample.tokens.front())];
      for (std::size_t token = 0; token < counts.size(); ++token) {
        const double p = expected[token];
        EXPECT_NEAR(counts[token] / kSamples, p, 5 * std::sqrt(p * (1 - p) / kSamples)) << token;
      }
    }
  }
}

TEST(WeightedSampling, ScoresAreThoseBeforeTheTemperature) {
  TableModel model({.vocabulary = kVocabularySize});
  const auto sentences = random_sentences(5, 5);
  const auto found = search(model, sentences, {.strategy = "sampling", .n_best = 20, .maximum_length = 6},
                            {.sampling = WeightedSampling{.temperature = 3}});
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (const Hypothesis& sample : found[i])
      for (std::size_t t = 0; t < sample.tokens.size(); ++t) {
        const Ids before(sample.tokens.begin(), sample.tokens.begin() + static_cast<std::ptrdiff_t>(t));
        const auto token = static_cast<std::size_t>(sample.tokens[t]);
        EXPECT_NEAR(sample.token_log_probabilities[t], model.distribution(sentences[i].source, before)[token], 1e-12);
      }
}

TEST(WeightedSampling, DependsOnSeedAndLineOnly) {
  TableModel model({.vocabulary = kVocabularySize});
  auto sentences = random_sentences(6, 5);
  for (std::size_t i = 0; i < sentences.size(); ++i) sentences[i].line = i;
  const DecodingOptions options{.strategy = "sampling", .n_best = 3, .maximum_length = 8};
  const auto of = [&](std::uint32_t seed, const std::vector<Sentence>& some) {
    return search(model, some, options, {.sampling = WeightedSampling{.seed = seed}});
  };
  const auto all = of(1, sentences);
  for (std::size_t i = 0; i < sentences.size(); ++i) testing::expect_same({all[i]}, of(1, {sentences[i]}));
  int same = 0;
  const auto others = of(2, sentences);
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (std::size_t n = 0; n < 3; ++n) same += all[i][n].tokens == others[i][n].tokens ? 1 : 0;
  EXPECT_LT(same, 9);
}

/// All translations of at most `longest` tokens under the biased distribution, with their log probabilities.
std::map<Ids, double> list_biased(const TableModel& model, const Ids& source, const Ids& bias, double strength,
                                  std::size_t longest) {
  std::map<Ids, double> found;
  const std::function<void(const Ids&, double)> visit = [&](const Ids& tokens, double sum) {
    const auto next = model.distribution(source, tokens);
    const bool follows = tokens.size() < bias.size() && std::equal(tokens.begin(), tokens.end(), bias.begin());
    for (std::int32_t token = 0; token < kVocabularySize; ++token) {
      double p = std::exp(next[static_cast<std::size_t>(token)]);
      if (follows) p = (1 - strength) * p + (token == bias[tokens.size()] ? strength : 0);
      Ids longer = tokens;
      if (token == TableModel::kEnd) {
        found[tokens] = sum + std::log(p);
      } else if (tokens.size() < longest) {
        longer.push_back(token);
        visit(longer, sum + std::log(p));
      }
    }
  };
  visit({}, 0);
  return found;
}

TEST(BiasedSearch, EqualsAListOfAllTranslations) {
  constexpr std::int32_t kTokens = 3;
  TableModel model({.vocabulary = kVocabularySize});
  const auto sentences = random_sentences(6, 5);
  const Ids bias{4, 3};
  for (const double strength : {0.3, 0.9}) {
    const auto found =
        search(model, sentences,
               {.beam_size = 1000, .n_best = 5, .length_penalty = LengthPenalty::ct2(0), .maximum_length = kTokens},
               {.bias = bias, .bias_strength = strength});
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const auto all = list_biased(model, sentences[i].source, bias, strength, kTokens);
      std::vector<double> ended;
      for (const Hypothesis& hypothesis : found[i]) {
        if (hypothesis.stopped_by != StoppedBy::kEnd) continue;
        EXPECT_NEAR(hypothesis.log_probability, all.at(hypothesis.tokens), 1e-9);
        ended.push_back(hypothesis.log_probability);
      }
      ASSERT_FALSE(ended.empty());
      double best = -std::numeric_limits<double>::infinity();
      for (const auto& [tokens, log_probability] : all) best = std::max(best, log_probability);
      EXPECT_NEAR(ended.front(), best, 1e-9);
    }
  }
}

TEST(BiasedSearch, WithoutABiasIsTheSearch) {
  TableModel model({.vocabulary = kVocabularySize});
  const auto sentences = random_sentences(6, 5);
  const DecodingOptions options{.beam_size = 3, .n_best = 3};
  testing::expect_same(search(model, sentences, options, {.bias = {4, 3}}), decode_all(model, sentences, options));
  testing::expect_same(search(model, sentences, options, {.bias_strength = 0.5}),
                       decode_all(model, sentences, options));
}

TEST(ObservedSearch, ReportsEachTokenOfTheResultOnce) {
  TableModel model({.vocabulary = kVocabularySize});
  auto sentences = random_sentences(1, 5);
  sentences.front().target_prefix = {4};
  for (const bool cut : {false, true}) {
    std::vector<ObservedToken> observed;
    const DecodingOptions options{.strategy = "greedy", .maximum_length = 5, .cut_at_maximum = cut};
    const auto found = search(model, sentences, options, {.observer = [&](const ObservedToken& token) {
                                observed.push_back(token);
                                return false;
                              }});
    const Hypothesis& best = found.front().front();
    EXPECT_EQ(best.tokens, decode_all(model, sentences, options).front().front().tokens);
    Ids tokens;
    for (const ObservedToken& token : observed) {
      EXPECT_EQ(token.step, static_cast<std::int32_t>(tokens.size()));
      tokens.push_back(token.token);
    }
    Ids expected = best.tokens;
    if (best.end >= 0) expected.push_back(best.end);
    EXPECT_EQ(tokens, expected);
    if (cut || best.end >= 0) {
      EXPECT_TRUE(observed.back().is_last);
    }
  }
}

TEST(ObservedSearch, CutsAHypothesisWhenAsked) {
  TableModel model({.vocabulary = kVocabularySize, .end_bias = -std::numeric_limits<double>::infinity()});
  const auto sentences = random_sentences(1, 5);
  const auto found = search(model, sentences, {.strategy = "greedy", .maximum_length = 9},
                            {.observer = [](const ObservedToken& token) { return token.step == 2; }});
  EXPECT_EQ(found.front().front().tokens.size(), 3U);
  EXPECT_EQ(found.front().front().stopped_by, StoppedBy::kLength);
}

}  // namespace
}  // namespace dragoman::decoding
