#include "table_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace dragoman::decoding {
namespace {

using testing::exhaustive_search;
using testing::random_sentences;
using testing::TableModel;

constexpr std::int32_t kVocabulary = 5;
constexpr std::int32_t kLongest = 4;
/// More than the 4^4 * 5 continuations that the longest hypotheses have, also after those that ended have closed their
/// places.
constexpr std::int32_t kWholeSpace = 2000;

struct Preset {
  std::string name;
  LengthPenalty penalty;
  double coverage = 0;
  std::int32_t n_best = 10;
};

void PrintTo(const Preset& preset, std::ostream* out) {
  *out << preset.name;
}

class WholeSpaceBeam : public ::testing::TestWithParam<Preset> {};

TEST_P(WholeSpaceBeam, EqualsExhaustiveSearch) {
  const Preset& preset = GetParam();
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    TableModel model({.seed = seed, .vocabulary = kVocabulary});
    const DecodingOptions options{.beam_size = kWholeSpace,
                                  .n_best = preset.n_best,
                                  .length_penalty = preset.penalty,
                                  .coverage_penalty = preset.coverage,
                                  .maximum_length = kLongest};
    const auto sentences = random_sentences(3, 4, seed);
    const auto found = decode_all(model, sentences, options);
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const auto all = exhaustive_search(model, sentences[i].source, kLongest, options);
      ASSERT_EQ(all.size(), 341U);  // 1 + 4 + 16 + 64 + 256 translations of 0 to 4 tokens
      ASSERT_EQ(found[i].size(), static_cast<std::size_t>(preset.n_best));
      for (std::size_t n = 0; n < found[i].size(); ++n) {
        EXPECT_EQ(found[i][n].tokens, all[n].tokens) << "seed " << seed << ", place " << n;
        EXPECT_NEAR(found[i][n].score, all[n].score, 1e-12);
        EXPECT_EQ(found[i][n].stopped_by, StoppedBy::kEnd);
        ASSERT_EQ(found[i][n].token_log_probabilities.size(), all[n].token_log_probabilities.size());
        for (std::size_t t = 0; t < all[n].token_log_probabilities.size(); ++t)
          EXPECT_NEAR(found[i][n].token_log_probabilities[t], all[n].token_log_probabilities[t], 1e-12);
      }
    }
  }
}

std::string preset_name(const ::testing::TestParamInfo<Preset>& preset) {
  return preset.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Presets, WholeSpaceBeam,
    ::testing::Values(Preset{"none", LengthPenalty::none()}, Preset{"none_coverage", LengthPenalty::none(), 0.5},
                      Preset{"gnmt", LengthPenalty::gnmt()}, Preset{"gnmt_coverage", LengthPenalty::gnmt(), 0.4},
                      Preset{"fairseq_coverage", LengthPenalty::fairseq(), 0.3},
                      Preset{"marian_coverage", LengthPenalty::marian(), 1},
                      Preset{"marian_normalised_coverage", LengthPenalty::marian(0.7, 0.3), 0.6},
                      // It would trust the first best end, which a coverage penalty may put behind others.
                      Preset{"ct2_early_coverage", LengthPenalty::ct2(0), 0.7},
                      Preset{"transformers", LengthPenalty::transformers()},
                      Preset{"fairseq", LengthPenalty::fairseq()}, Preset{"fairseq_half", LengthPenalty::fairseq(0.5)},
                      Preset{"marian", LengthPenalty::marian()},
                      Preset{"marian_normalised", LengthPenalty::marian(0.7, 0.3)}, Preset{"ct2", LengthPenalty::ct2()},
                      // It stops at the first best end, which is sure to be the best of all only for one result.
                      Preset{"ct2_early", LengthPenalty::ct2(0), 0, 1},
                      Preset{"ct2_coverage", LengthPenalty::ct2(), 0.2}),
    preset_name);

TEST(Greedy, TakesTheMostProbableTokenOfEveryStep) {
  TableModel model({.vocabulary = 7});
  const auto sentences = random_sentences(20, 5);
  const auto found = decode_all(model, sentences, {.strategy = "greedy"});
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::int32_t longest = 2 * (static_cast<std::int32_t>(sentences[i].source.size()) - 1) + 10;
    std::vector<std::int32_t> expected;
    bool ended = false;
    while (static_cast<std::int32_t>(expected.size()) <= longest) {
      const auto next = model.distribution(sentences[i].source, expected);
      const auto token = static_cast<std::int32_t>(std::max_element(next.begin(), next.end()) - next.begin());
      ended = token == TableModel::kEnd;
      if (ended || static_cast<std::int32_t>(expected.size()) == longest) break;
      expected.push_back(token);
    }
    ASSERT_EQ(found[i].size(), 1U);
    EXPECT_EQ(found[i][0].tokens, expected);
    EXPECT_EQ(found[i][0].stopped_by, ended ? StoppedBy::kEnd : StoppedBy::kLength);
  }
}

TEST(Beam, OfSizeOneEqualsGreedy) {
  TableModel model({.vocabulary = 9, .end_bias = 0.5});
  const auto sentences = random_sentences(30, 6);
  const auto greedy = decode_all(model, sentences, {.strategy = "greedy"});
  for (const char* preset : {"fairseq", "gnmt", "marian", "ct2", "none"}) {
    const LengthPenalty penalty = LengthPenalty::preset(preset);
    const auto beam = decode_all(model, sentences, {.beam_size = 1, .length_penalty = penalty});
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      ASSERT_EQ(beam[i].size(), 1U);
      EXPECT_EQ(beam[i][0].tokens, greedy[i][0].tokens) << preset;
      EXPECT_EQ(beam[i][0].token_log_probabilities, greedy[i][0].token_log_probabilities) << preset;
    }
  }
}

TEST(Beam, NBestIsSortedDistinctAndConsistent) {
  TableModel model({.vocabulary = 12, .end_bias = 1});
  const auto sentences = random_sentences(20, 6);
  for (const char* preset : {"fairseq", "gnmt", "ct2", "transformers"}) {
    const DecodingOptions options{.beam_size = 6, .n_best = 6, .length_penalty = LengthPenalty::preset(preset)};
    const auto found = decode_all(model, sentences, options);
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      ASSERT_EQ(found[i].size(), 6U) << preset;
      for (std::size_t n = 0; n < found[i].size(); ++n) {
        const Hypothesis& hypothesis = found[i][n];
        for (std::size_t m = 0; m < n; ++m) EXPECT_NE(found[i][m].tokens, hypothesis.tokens);
        EXPECT_TRUE(n == 0 || better(found[i][n - 1], hypothesis));
        double sum = 0;
        std::vector<std::int32_t> history;
        for (std::size_t t = 0; t < hypothesis.token_log_probabilities.size(); ++t) {
          const std::int32_t token = t < hypothesis.tokens.size() ? hypothesis.tokens[t] : TableModel::kEnd;
          const double expected = model.distribution(sentences[i].source, history)[static_cast<std::size_t>(token)];
          EXPECT_NEAR(hypothesis.token_log_probabilities[t], expected, 1e-12);
          sum += expected;
          history.push_back(token);
        }
        EXPECT_NEAR(hypothesis.log_probability, sum, 1e-12);
        EXPECT_NEAR(hypothesis.score,
                    options.length_penalty.score(sum, static_cast<std::int64_t>(hypothesis.tokens.size()),
                                                 hypothesis.stopped_by == StoppedBy::kEnd),
                    1e-12);
      }
    }
  }
}

/// Straight from the description of each system, with whole hypotheses in plain lists: an independent writing of what
/// beam.cpp does with candidates and parents.
struct PlainBeam {
  const TableModel& model;
  const std::vector<std::int32_t>& source;
  std::int32_t beam_size;
  std::int32_t longest;
  LengthPenalty penalty;

  struct Entry {
    std::vector<std::int32_t> tokens;
    double sum = 0;
  };
  struct Ended {
    std::vector<std::int32_t> tokens;
    double score;
  };

  std::vector<Entry> expand(const std::vector<Entry>& live) const {
    std::vector<Entry> all;
    for (const Entry& entry : live) {
      const auto next = model.distribution(source, entry.tokens);
      for (std::size_t v = 0; v < next.size(); ++v) {
        all.push_back({entry.tokens, entry.sum + next[v]});
        all.back().tokens.push_back(static_cast<std::int32_t>(v));
      }
    }
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.sum > b.sum; });
    return all;
  }
  static bool is_ended(const Entry& entry) { return entry.tokens.back() == TableModel::kEnd; }
  Ended finish(Entry entry) const {
    entry.tokens.pop_back();
    return {entry.tokens, penalty.score(entry.sum, static_cast<std::int64_t>(entry.tokens.size()), true)};
  }

  /// fairseq: of the best 2B, ends within the first B are final; the best B others go on; stop with B final ones.
  std::vector<Ended> fairseq() const {
    std::vector<Ended> ended;
    std::vector<Entry> live{{}};
    for (std::int32_t step = 0; step < longest; ++step) {
      const auto all = expand(live);
      live.clear();
      for (std::size_t i = 0; i < all.size() && i < 2 * static_cast<std::size_t>(beam_size); ++i) {
        if (!is_ended(all[i]) && static_cast<std::int32_t>(live.size()) < beam_size) live.push_back(all[i]);
        if (is_ended(all[i]) && static_cast<std::int32_t>(i) < beam_size) ended.push_back(finish(all[i]));
      }
      if (static_cast<std::int32_t>(ended.size()) >= beam_size) break;
    }
    return ended;
  }

  /// Marian: the best as many as are left of the beam; those that end leave it for good.
  std::vector<Ended> marian() const {
    std::vector<Ended> ended;
    std::vector<Entry> live{{}};
    std::size_t width = static_cast<std::size_t>(beam_size);
    for (std::int32_t step = 0; step < longest && !live.empty(); ++step) {
      auto all = expand(live);
      all.resize(std::min(all.size(), width));
      live.clear();
      for (const Entry& entry : all) {
        if (is_ended(entry)) {
          ended.push_back(finish(entry));
          --width;
        } else {
          live.push_back(entry);
        }
      }
    }
    return ended;
  }
};

TEST(Beam, FollowsThePublishedPruningAndStopRules) {
  TableModel model({.vocabulary = 10, .end_bias = 0.7});
  const auto sentences = random_sentences(40, 5);
  for (const std::int32_t beam_size : {2, 3, 5}) {
    for (const bool marian : {false, true}) {
      const LengthPenalty penalty = marian ? LengthPenalty::marian(0.8) : LengthPenalty::fairseq();
      const DecodingOptions options{
          .beam_size = beam_size, .n_best = beam_size, .length_penalty = penalty, .maximum_length = 60};
      const auto found = decode_all(model, sentences, options);
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        const PlainBeam plain{model, sentences[i].source, beam_size, 60, penalty};
        auto expected = marian ? plain.marian() : plain.fairseq();
        std::sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
        expected.resize(std::min(expected.size(), static_cast<std::size_t>(beam_size)));
        ASSERT_EQ(found[i].size(), expected.size());
        for (std::size_t n = 0; n < expected.size(); ++n) {
          EXPECT_EQ(found[i][n].tokens, expected[n].tokens) << penalty.alpha << " sentence " << i << " place " << n;
          EXPECT_NEAR(found[i][n].score, expected[n].score, 1e-12);
        }
      }
    }
  }
}

TEST(Beam, TheBoundRuleLosesNothing) {
  // With the bound, a search may stop early; without it (all finish, nobody is refused) the best result must be the
  // same.
  TableModel model({.vocabulary = 10, .end_bias = 0.5});
  const auto sentences = random_sentences(30, 4);
  DecodingOptions options{.beam_size = 3, .n_best = 2, .length_penalty = LengthPenalty::gnmt()};
  const auto bounded = decode_all(model, sentences, options);
  options.length_penalty.stop = StopRule::kBeamEmpty;
  testing::expect_same(bounded, decode_all(model, sentences, options));
}

TEST(Beam, PatienceWaitsForMoreHypotheses) {
  TableModel model({.vocabulary = 8, .end_bias = 1});
  const auto sentences = random_sentences(40, 4);
  const auto eager = decode_all(model, sentences, {.beam_size = 3});
  const auto patient = decode_all(model, sentences, {.beam_size = 3, .patience = 4});
  double gain = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_GE(patient[i][0].score, eager[i][0].score);
    gain += patient[i][0].score - eager[i][0].score;
  }
  EXPECT_GT(gain, 0);
}

TEST(Beam, EqualProbabilitiesAreResolvedByTokenOrder) {
  // All tokens are equally probable: of each step's three places the second token's goes on, and the first parent's
  // children come first.
  TableModel model({.vocabulary = 6, .sharpness = 0});
  const auto found =
      decode_all(model, random_sentences(1, 3), {.beam_size = 3, .n_best = 3, .length_penalty = LengthPenalty::none()});
  ASSERT_EQ(found[0].size(), 3U);
  EXPECT_EQ(found[0][0].tokens, (std::vector<std::int32_t>{}));
  EXPECT_EQ(found[0][1].tokens, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(found[0][2].tokens, (std::vector<std::int32_t>{0, 0}));
}

}  // namespace
}  // namespace dragoman::decoding
