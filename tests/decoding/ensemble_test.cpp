#include "dragoman/decoding/ensemble.h"

#include "error_message.h"
#include "small_model.h"
#include "table_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

namespace dragoman::decoding {
namespace {

using dragoman::testing::message_of;
using testing::expect_same;
using ::testing::HasSubstr;
using testing::log_softmax;
using testing::small_sentences;
using testing::SmallModel;

constexpr EnsembleMean kMeans[] = {EnsembleMean::kProbability, EnsembleMean::kLogProbability};

/// Small models and an ensemble of them.
class Together {
 public:
  explicit Together(const std::vector<std::uint64_t>& seeds, std::vector<double> weights = {},
                    EnsembleMean mean = EnsembleMean::kProbability) {
    ensemble_.weights = std::move(weights);
    ensemble_.mean = mean;
    for (const std::uint64_t seed : seeds) {
      models.push_back(std::make_unique<SmallModel>(seed));
      ensemble_.models.push_back(&models.back()->model());
      contexts_.push_back(&models.back()->context());
    }
    stepper = std::make_unique<EnsembleStepper>(ensemble_, contexts_);
  }

  /// By full passes and the definition, in double precision.
  std::vector<double> distribution(const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& target) {
    std::vector<double> weights = ensemble_.weights;
    if (weights.empty()) weights.assign(models.size(), 1);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<double> result(SmallModel::kVocabulary, 0);
    for (std::size_t i = 0; i < models.size(); ++i) {
      const auto own = log_softmax(testing::next_logits(*models[i], source, target));
      for (std::size_t v = 0; v < result.size(); ++v)
        result[v] += weights[i] / sum * (ensemble_.mean == EnsembleMean::kProbability ? std::exp(own[v]) : own[v]);
    }
    if (ensemble_.mean == EnsembleMean::kLogProbability) return log_softmax(result);
    for (double& p : result) p = std::log(p);
    return result;
  }

  using Sequences = std::vector<std::vector<std::int32_t>>;
  std::vector<TargetScore> score(const Sequences& sources, const Sequences& targets, const LengthPenalty& penalty) {
    const auto joined = [](const Sequences& sequences) {
      std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> batch{{}, {0}};
      for (const auto& sequence : sequences) {
        batch.first.insert(batch.first.end(), sequence.begin(), sequence.end());
        batch.second.push_back(static_cast<std::int32_t>(batch.first.size()));
      }
      return batch;
    };
    const auto [source, source_offsets] = joined(sources);
    const auto [target, target_offsets] = joined(targets);
    return decoding::score(ensemble_, contexts_, {source, source_offsets}, {target, target_offsets}, penalty);
  }

  std::vector<std::unique_ptr<SmallModel>> models;
  std::unique_ptr<EnsembleStepper> stepper;

 private:
  Ensemble ensemble_;
  std::vector<tensor::Context*> contexts_;
};

std::vector<DecodingOptions> searches() {
  std::vector<DecodingOptions> all;
  all.push_back({.strategy = "greedy"});
  all.push_back({.beam_size = 5, .n_best = 3, .no_repeat_ngram = 2, .want_alignment = true});
  all.push_back({.beam_size = 3, .minimum_length = 3, .suppressed = {{4}, {5, 6}}});
  all.push_back({.strategy = "sampling", .n_best = 4, .sampling = {.temperature = 0.7, .seed = 9}});
  all.push_back({.strategy = "sampling", .n_best = 2, .sampling = {.top_k = 5}});
  all.push_back({.strategy = "sampling", .n_best = 2, .sampling = {.top_p = 0.8}});
  return all;
}

TEST(EnsembleStepper, OfAModelWithItselfIsThatModel) {
  const auto sentences = small_sentences(12, 7);
  SmallModel alone(4);
  ModelStepper stepper(alone.model(), alone.context());
  for (const EnsembleMean mean : kMeans) {
    Together twice({4, 4, 4}, {3, 1, 0.5}, mean);
    for (const DecodingOptions& options : searches()) {
      const auto expected = decode_all(stepper, sentences, options);
      const auto found = decode_all(*twice.stepper, sentences, options);
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        ASSERT_EQ(found[i].size(), expected[i].size());
        for (std::size_t h = 0; h < found[i].size(); ++h) {
          EXPECT_EQ(found[i][h].tokens, expected[i][h].tokens) << options.strategy;
          EXPECT_NEAR(found[i][h].score, expected[i][h].score, 1e-9);
          ASSERT_EQ(found[i][h].alignment.size(), expected[i][h].alignment.size());
          for (std::size_t t = 0; t < found[i][h].alignment.size(); ++t)
            for (std::size_t s = 0; s < found[i][h].alignment[t].size(); ++s)
              EXPECT_NEAR(found[i][h].alignment[t][s], expected[i][h].alignment[t][s], 1e-6);
        }
      }
    }
  }
}

/// Every translation of up to two tokens is listed, and its probability computed by full passes of both models.
TEST(EnsembleStepper, FindsWhatListingAllTranslationsFinds) {
  for (const EnsembleMean mean : kMeans) {
    Together both({1, 5}, {0.3, 0.9}, mean);
    for (const Sentence& sentence : small_sentences(3, 6)) {
      std::vector<std::pair<double, std::vector<std::int32_t>>> all;
      const auto end = static_cast<std::size_t>(both.stepper->spec().end);
      const auto list = [&](const auto& self, std::vector<std::int32_t> tokens, double sum) -> void {
        const auto next = both.distribution(sentence.source, tokens);
        all.emplace_back(sum + next[end], tokens);
        for (std::size_t v = 0; tokens.size() < 2 && v < next.size(); ++v) {
          if (v == end) continue;
          tokens.push_back(static_cast<std::int32_t>(v));
          self(self, tokens, sum + next[v]);
          tokens.pop_back();
        }
      };
      list(list, {}, 0);
      std::sort(all.begin(), all.end(), std::greater<>());
      auto found =
          decode_all(*both.stepper, {sentence},
                     {.beam_size = 400, .n_best = 400, .length_penalty = LengthPenalty::none(), .maximum_length = 2});
      // What was cut has no end, and is not in the list.
      std::erase_if(found.front(), [](const Hypothesis& one) { return one.stopped_by != StoppedBy::kEnd; });
      ASSERT_GE(found.front().size(), 8U);
      for (std::size_t h = 0; h < 8; ++h) {
        EXPECT_EQ(found.front()[h].tokens, all[h].second);
        EXPECT_NEAR(found.front()[h].log_probability, all[h].first, 1e-9);
      }
    }
  }
}

TEST(EnsembleStepper, EveryTokensLogProbabilityIsThatOfTheMeanWhateverTheSearch) {
  for (const EnsembleMean mean : kMeans) {
    Together both({1, 5}, {2, 1}, mean);
    auto sentences = small_sentences(8, 6);
    for (std::size_t i = 0; i < sentences.size(); i += 2) sentences[i].target_prefix = {7, 3, 9};
    for (const char* strategy : {"greedy", "beam", "sampling"}) {
      const auto found = decode_all(*both.stepper, sentences, {.strategy = strategy, .maximum_length = 6});
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        const Hypothesis& best = found[i].front();
        for (std::size_t t = 0; t < best.token_log_probabilities.size(); ++t) {
          const auto place = best.tokens.begin() + static_cast<std::ptrdiff_t>(std::min(t, best.tokens.size()));
          const auto next = both.distribution(sentences[i].source, {best.tokens.begin(), place});
          const std::int32_t token = t < best.tokens.size() ? best.tokens[t] : both.stepper->spec().end;
          EXPECT_NEAR(best.token_log_probabilities[t], next[static_cast<std::size_t>(token)], 1e-9) << strategy;
        }
      }
    }
  }
}

/// A beam of 2 does not see the wanted token among its candidates, so its probability is asked for.
TEST(EnsembleStepper, MeetsConstraintsWithTheProbabilitiesOfTheMean) {
  for (const EnsembleMean mean : kMeans) {
    Together both({1, 5}, {2, 1}, mean);
    auto sentences = small_sentences(6, 6);
    for (std::size_t i = 0; i < sentences.size(); ++i)
      sentences[i].constraints = {{{{{static_cast<std::int32_t>(4 + i), 3}, false}}}};
    for (const bool blocks : {false, true}) {  // with and without edits of the distribution
      const auto found = decode_all(*both.stepper, sentences,
                                    {.beam_size = 2, .maximum_length = 6, .no_repeat_ngram = blocks ? 3 : 0});
      for (std::size_t i = 0; i < sentences.size(); ++i) {
        const Hypothesis& best = found[i].front();
        const std::vector<std::int32_t> wanted = {static_cast<std::int32_t>(4 + i), 3};
        EXPECT_NE(std::search(best.tokens.begin(), best.tokens.end(), wanted.begin(), wanted.end()), best.tokens.end());
        for (std::size_t t = 0; !blocks && t < best.tokens.size(); ++t) {
          const auto next = both.distribution(
              sentences[i].source, {best.tokens.begin(), best.tokens.begin() + static_cast<std::ptrdiff_t>(t)});
          EXPECT_NEAR(best.token_log_probabilities[t], next[static_cast<std::size_t>(best.tokens[t])], 1e-9);
        }
      }
    }
  }
}

TEST(EnsembleScore, IsTheChainRuleOfTheMean) {
  const std::vector<std::vector<std::int32_t>> sources{{5, 2}, {3, 4, 5, 6, 2}, {7, 7, 2}};
  const std::vector<std::vector<std::int32_t>> targets{{4, 9, 3}, {}, {3, 3, 10}};
  for (const EnsembleMean mean : kMeans) {
    Together both({1, 5}, {0.3, 0.9}, mean);
    const auto scores = both.score(sources, targets, LengthPenalty::gnmt());
    ASSERT_EQ(scores.size(), targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      std::vector<std::int32_t> expected = targets[i];
      expected.push_back(both.stepper->spec().end);
      ASSERT_EQ(scores[i].token_log_probabilities.size(), expected.size());
      double sum = 0;
      for (std::size_t t = 0; t < expected.size(); ++t) {
        const auto before = targets[i].begin() + static_cast<std::ptrdiff_t>(t);
        const double value =
            both.distribution(sources[i], {targets[i].begin(), before})[static_cast<std::size_t>(expected[t])];
        EXPECT_NEAR(scores[i].token_log_probabilities[t], value, 1e-9);
        sum += value;
      }
      EXPECT_NEAR(scores[i].log_probability, sum, 1e-9);
      EXPECT_DOUBLE_EQ(
          scores[i].score,
          LengthPenalty::gnmt().score(scores[i].log_probability, static_cast<std::int64_t>(targets[i].size()), true));
      // Alone, and so whatever the batch.
      EXPECT_EQ(both.score({sources[i]}, {targets[i]}, {}).front().token_log_probabilities,
                scores[i].token_log_probabilities);
    }
  }
}

TEST(EnsembleScore, OfAModelWithItselfIsThatModels) {
  SmallModel alone(4);
  const std::vector<std::int32_t> source = {5, 6, 2}, target = {7, 8, 9, 3}, source_offsets = {0, 3},
                                  target_offsets = {0, 4};
  const auto expected =
      score(alone.model(), alone.context(), {source, source_offsets}, {target, target_offsets}).front();
  for (const EnsembleMean mean : kMeans) {
    const auto found = Together({4, 4, 4}, {3, 1, 0.5}, mean).score({source}, {target}, {}).front();
    EXPECT_NEAR(found.log_probability, expected.log_probability, 1e-9);
  }
}

TEST(EnsembleStepper, ResultsDoNotDependOnWhatElseIsInFlight) {
  const auto sentences = small_sentences(14, 8);
  for (const EnsembleMean mean : kMeans) {
    Together both({1, 5}, {}, mean);
    for (const DecodingOptions& options : searches()) {
      const auto alone = decode_all(*both.stepper, sentences, options, LoopLimits{.maximum_rows = 1});
      expect_same(alone, decode_all(*both.stepper, sentences, options, LoopLimits{.maximum_rows = 9}));
      expect_same(alone, decode_all(*both.stepper, sentences, options,
                                    LoopLimits{.maximum_rows = 100, .maximum_encoder_tokens = 11}));
    }
    EXPECT_EQ(both.stepper->bytes_in_use(), 0U);
  }
}

TEST(EnsembleStepper, NothingAllowedMeansNothingFollows) {
  Together both({1, 5}, {}, EnsembleMean::kLogProbability);
  DecodingOptions options{.beam_size = 2};
  for (std::int32_t v = 0; v < SmallModel::kVocabulary; ++v) options.suppressed.push_back({v});
  const auto found = decode_all(*both.stepper, small_sentences(2, 4), options);
  for (const auto& hypotheses : found) {
    EXPECT_TRUE(hypotheses.front().tokens.empty());
    EXPECT_NE(hypotheses.front().stopped_by, StoppedBy::kNotFinite);
  }
}

TEST(Ensemble, SaysWhichModelDoesNotFit) {
  const SmallModel first(1);
  const SmallModel other_start(1, 3);
  const auto error = [](const Ensemble& ensemble) {
    return message_of([&] { static_cast<void>(ensemble.spec()); }, core::ErrorCode::kInvalidArgument);
  };
  EXPECT_THAT(error({}), HasSubstr("no models"));
  EXPECT_THAT(error({.models = {&first.model(), &other_start.model()}}), HasSubstr("first token is 3 in model 2"));
  EXPECT_EQ((Ensemble{.models = {&first.model(), &first.model()}, .weights = {1e308, 1e308}}.normalised_weights()),
            (std::vector<double>{0.5, 0.5}))
      << "only ratios count";
  EXPECT_THAT(error({.models = {&first.model()}, .weights = {1, 2}}), HasSubstr("2 weights for 1 models"));
  EXPECT_THAT(error({.models = {&first.model()}, .weights = {0}}), HasSubstr("above 0"));
  EXPECT_THAT(error({.models = {&first.model()}, .weights = {std::nan("")}}), HasSubstr("above 0"));
}

}  // namespace
}  // namespace dragoman::decoding
