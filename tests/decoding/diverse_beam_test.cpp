#include "small_model.h"
#include "table_model.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/decoding/model_stepper.h>

namespace dragoman::decoding {
namespace {

using testing::random_sentences;
using testing::TableModel;
using Tokens = std::vector<std::int32_t>;

/// Algorithm 1 of Vijayakumar et al. 2016 with Hamming diversity and fairseq's rules for ends, in plain lists.
struct PlainDiverseBeam {
  const TableModel& model;
  const Tokens& source;
  std::size_t groups;
  std::size_t size;
  double strength;

  struct Entry {
    Tokens tokens;
    double sum = 0;
    double rank = 0;
  };

  std::vector<std::vector<Hypothesis>> search(std::size_t longest) const {
    std::vector<std::vector<Entry>> live(groups, std::vector<Entry>(1));
    std::vector<std::vector<Hypothesis>> ended(groups);
    for (std::size_t step = 0; step < longest; ++step) {
      std::map<std::int32_t, int> chosen;
      for (std::size_t g = 0; g < groups; ++g) {
        if (ended[g].size() >= size) live[g].clear();
        std::vector<Entry> all;
        for (const Entry& entry : live[g]) {
          const auto next = model.distribution(source, entry.tokens);
          for (std::size_t v = 0; v < next.size(); ++v) {
            Entry longer{entry.tokens, entry.sum + next[v], 0};
            longer.tokens.push_back(static_cast<std::int32_t>(v));
            longer.rank = longer.sum - strength * chosen[static_cast<std::int32_t>(v)];
            all.push_back(longer);
          }
        }
        std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.rank > b.rank; });
        live[g].clear();
        for (std::size_t i = 0; i < all.size() && i < 2 * size && live[g].size() < size; ++i) {
          Entry& entry = all[i];
          const std::int32_t token = entry.tokens.back();
          if (token != TableModel::kEnd) {
            live[g].push_back(entry);
          } else if (i < size) {
            entry.tokens.pop_back();
            Hypothesis hypothesis;
            hypothesis.tokens = entry.tokens;
            hypothesis.score = LengthPenalty::fairseq().score(entry.sum, std::ssize(entry.tokens), true);
            ended[g].push_back(hypothesis);
          } else {
            continue;
          }
          ++chosen[token];
        }
      }
    }
    return ended;
  }
};

TEST(DiverseBeam, FollowsThePublishedAlgorithm) {
  TableModel model({.vocabulary = 10, .end_bias = 0.7});
  const auto sentences = random_sentences(30, 5);
  for (const auto& [groups, size] : {std::pair<std::int32_t, std::int32_t>{2, 2}, {3, 1}, {4, 3}})
    for (const double strength : {0.0, 0.4, 2.5}) {
      const auto found = decode_all(model, sentences,
                                    {.beam_size = groups * size,
                                     .n_best = groups * size,
                                     .beam_groups = groups,
                                     .diversity_strength = strength,
                                     .maximum_length = 60});
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        const PlainDiverseBeam plain{model, sentences[i].source, static_cast<std::size_t>(groups),
                                     static_cast<std::size_t>(size), strength};
        std::map<Tokens, double> expected;
        std::vector<Hypothesis> best;
        for (const auto& group : plain.search(60)) {
          for (const Hypothesis& hypothesis : group) expected[hypothesis.tokens] = hypothesis.score;
          best.push_back(*std::ranges::max_element(group, {}, &Hypothesis::score));
        }
        std::map<Tokens, double> given;
        for (const Hypothesis& hypothesis : found[i]) given[hypothesis.tokens] = hypothesis.score;
        EXPECT_EQ(given.size(), found[i].size()) << "no translation is given twice";
        for (const auto& [tokens, score] : given) {
          ASSERT_TRUE(expected.contains(tokens)) << groups << " groups, strength " << strength << ", sentence " << i;
          EXPECT_NEAR(score, expected[tokens], 1e-12);
        }
        for (const Hypothesis& hypothesis : best) EXPECT_TRUE(given.contains(hypothesis.tokens));
      }
    }
}

/// The share of places at which two results of a sentence (of different groups) have the same token.
double agreement(const std::vector<std::vector<Hypothesis>>& results, bool of_different_groups) {
  double same = 0, places = 0;
  for (const auto& hypotheses : results)
    for (const Hypothesis& a : hypotheses)
      for (const Hypothesis& b : hypotheses) {
        if (&a == &b || (of_different_groups && a.origin == b.origin)) continue;
        for (std::size_t t = 0; t < std::min(a.tokens.size(), b.tokens.size()); ++t) {
          places += 1;
          same += a.tokens[t] == b.tokens[t] ? 1 : 0;
        }
      }
  return same / places;
}

TEST(DiverseBeam, GivesDifferentTranslationsUnderEveryPreset) {
  TableModel model({.vocabulary = 30, .end_bias = 2});
  const auto sentences = random_sentences(40, 6);
  for (const char* preset : {"fairseq", "gnmt", "marian", "ct2", "none"}) {
    DecodingOptions options{.beam_size = 6, .n_best = 6, .length_penalty = LengthPenalty::preset(preset)};
    const auto plain = decode_all(model, sentences, options);
    options.beam_groups = 3;
    options.diversity_strength = 3;
    const auto diverse = decode_all(model, sentences, options);
    EXPECT_LT(agreement(diverse, true), 0.5 * agreement(plain, false)) << preset;
    for (const auto& hypotheses : diverse) {
      std::map<std::int32_t, int> of_group;
      for (const Hypothesis& hypothesis : hypotheses) ++of_group[hypothesis.origin];
      EXPECT_EQ(of_group.size(), 3U) << "every group gives something";
      for (const auto& [group, count] : of_group) EXPECT_LE(count, 2) << preset;
    }
  }
}

TEST(DiverseBeam, TheFirstGroupIsABeamOfItsSize) {
  TableModel model({.vocabulary = 12, .end_bias = 1});
  const auto sentences = random_sentences(30, 5);
  for (const char* preset : {"fairseq", "gnmt", "marian", "ct2", "none"}) {
    DecodingOptions options{.beam_size = 2, .n_best = 2, .length_penalty = LengthPenalty::preset(preset, 0.9)};
    const auto alone = decode_all(model, sentences, options);
    options.beam_size = options.n_best = 6;
    options.beam_groups = 3;
    const auto groups = decode_all(model, sentences, options);
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      std::vector<Tokens> first;
      for (const Hypothesis& hypothesis : groups[i])
        if (hypothesis.origin == 0) first.push_back(hypothesis.tokens);
      ASSERT_EQ(first.size(), alone[i].size()) << preset;
      for (std::size_t n = 0; n < first.size(); ++n) EXPECT_EQ(first[n], alone[i][n].tokens) << preset;
    }
  }
}

TEST(DiverseBeam, BeginsWithThePrefixAndObeysLimits) {
  TableModel model({.vocabulary = 9});
  auto sentences = random_sentences(10, 5);
  for (Sentence& sentence : sentences) sentence.target_prefix = {3, 4};
  const auto found = decode_all(model, sentences,
                                {.beam_size = 4,
                                 .n_best = 4,
                                 .beam_groups = 2,
                                 .diversity_strength = 1,
                                 .minimum_length = 4,
                                 .maximum_length = 6});
  for (const auto& hypotheses : found)
    for (const Hypothesis& hypothesis : hypotheses) {
      EXPECT_EQ(Tokens(hypothesis.tokens.begin(), hypothesis.tokens.begin() + 2), (Tokens{3, 4}));
      EXPECT_GE(hypothesis.tokens.size(), 4U);
      EXPECT_LE(hypothesis.tokens.size(), 6U);
    }
}

TEST(DiverseBeam, ResultsDoNotDependOnCompany) {
  testing::SmallModel small;
  const auto sentences = testing::small_sentences(20, 6);
  const DecodingOptions options{.beam_size = 6, .n_best = 3, .beam_groups = 3, .diversity_strength = 0.8};
  ModelStepper stepper(small.model(), small.context());
  const auto together = decode_all(stepper, sentences, options, {.maximum_rows = 1000, .maximum_encoder_tokens = 1000});
  testing::expect_same(together, decode_all(stepper, sentences, options, {.maximum_rows = 7}));
  for (std::size_t i = 0; i < sentences.size(); ++i)
    testing::expect_same({together[i]}, decode_all(stepper, {sentences[i]}, options));
}

TEST(DiverseBeam, RefusesWhatDoesNotFit) {
  EXPECT_THROW(check(DecodingOptions{.beam_size = 5, .beam_groups = 2}), core::Error);
  EXPECT_THROW(require_all_used({.strategy = "greedy", .beam_size = 4, .beam_groups = 2}), core::Error);
  EXPECT_THROW(require_all_used({.beam_size = 4, .diversity_strength = 0.7}), core::Error);
  TableModel model({});
  auto sentences = random_sentences(1, 3);
  sentences[0].constraints = {{{{{3}, false}}}};
  EXPECT_THROW(decode_all(model, sentences, {.beam_size = 4, .beam_groups = 2}), core::Error);
}

}  // namespace
}  // namespace dragoman::decoding
