#include "translation_engine_fixture.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>

namespace dragoman::engine {
namespace {

TEST_F(TranslationEngineTest, RequestsOfAnyKindFromAnyThreadAreWhatTheyAreAlone) {
  const auto sources = random_sources(90);
  const SharedSearch searches[] = {
      std::make_shared<const SearchPlan>(DecodingOptions{.beam_size = 5, .n_best = 3, .maximum_length = 20}),
      std::make_shared<const SearchPlan>(DecodingOptions{.strategy = "greedy", .maximum_length = 9}),
      std::make_shared<const SearchPlan>(DecodingOptions{
          .strategy = "sampling", .n_best = 2, .maximum_length = 12, .sampling = {.temperature = 1.3, .seed = 4}}),
      std::make_shared<const SearchPlan>(
          DecodingOptions{.strategy = "sampling", .maximum_length = 12, .sampling = {.top_k = 7, .top_p = 0.8}}),
      std::make_shared<const SearchPlan>(DecodingOptions{.maximum_length = 11, .want_alignment = true}),
  };
  for (const int threads : {1, 3}) {
    TranslationEngine engine(runtime_, *model_, {.threads = threads, .limits = {.maximum_rows = 40}});
    std::vector<Hypotheses> results(sources.size());
    {
      std::vector<std::jthread> callers;
      for (std::size_t caller = 0; caller < 3; ++caller)
        callers.emplace_back([&, caller] {
          Client client(engine);
          for (std::size_t i = caller; i < sources.size(); i += 3)
            client.submit(request(sources[i], i, searches[i % 5]), [&, i](TranslationResult result) {
              EXPECT_EQ(message_of(result.error), "");
              results[i] = std::move(result.hypotheses);
            });
          client.wait();
        });
    }
    for (std::size_t i = 0; i < sources.size(); ++i) expect_equal(results[i], alone(sources[i], i, searches[i % 5]));
  }
}

/// Sentences that come one by one: idle workers share the products of each.
TEST_F(TranslationEngineTest, ASentenceAloneIsTheSameOnAnyNumberOfCores) {
  const SharedSearch searches[] = {
      std::make_shared<const SearchPlan>(DecodingOptions{.beam_size = 4, .n_best = 2, .maximum_length = 8}),
      std::make_shared<const SearchPlan>(DecodingOptions{.strategy = "greedy", .maximum_length = 8}),
      std::make_shared<const SearchPlan>(
          DecodingOptions{.strategy = "sampling", .maximum_length = 8, .sampling = {.temperature = 1.2, .seed = 4}}),
      std::make_shared<const SearchPlan>(
          DecodingOptions{.beam_size = 4, .beam_groups = 2, .diversity_strength = 0.5, .maximum_length = 8}),
  };
  const auto sources = random_sources(8);
  // As wide as products have to be for that; a vocabulary of one panel, and one of several.
  for (const int vocabulary : {4000, 4500}) {
    nn::SequenceSpec wide = spec();
    wide.source_vocabulary = wide.target_vocabulary = vocabulary;
    core::Json layers = config();
    layers.update({{"d_model", 128}, {"feed_forward", 1024}});
    for (const auto choice : {tensor::ComputeChoice::kF32, tensor::ComputeChoice::kBF16, tensor::ComputeChoice::kI8}) {
      model_ = transformer::make_transformer(wide, layers);
      const auto context = make_context();
      model_->parameters().allocate(context->memory(), context->float_type(), tensor::Device::kCpu);
      model_->parameters().initialise(3);
      model_->parameters().prepare(*context, runtime_.inference_type(tensor::Device::kCpu, choice));
      std::vector<Hypotheses> expected;
      for (std::size_t i = 0; i < sources.size(); ++i) expected.push_back(alone(sources[i], i, searches[i % 4]));
      for (const bool latency : {true, false})
        for (const int threads : {1, 2, 3, 4}) {
          TranslationEngine engine(runtime_, *model_, {.threads = threads, .latency = latency});
          Client client(engine);
          for (std::size_t i = 0; i < sources.size(); ++i) {
            Hypotheses found;
            client.submit(request(sources[i], i, searches[i % 4]), [&](TranslationResult result) {
              EXPECT_EQ(message_of(result.error), "");
              found = std::move(result.hypotheses);
            });
            client.wait();
            expect_equal(found, expected[i]);
          }
        }
    }
  }
}

/// What a request was told on the way.
struct Told {
  std::vector<std::vector<std::int32_t>> decided;
  std::vector<std::vector<std::int32_t>> leading;
  Hypotheses result;

  OnPartialTranslation on_partial() {
    return [this](const PartialTranslation& partial) {
      EXPECT_EQ(partial.log_probabilities.size(), partial.tokens.size());
      leading.emplace_back(partial.tokens.begin(), partial.tokens.end());
      const auto known = partial.tokens.first(partial.decided);
      decided.emplace_back(known.begin(), known.end());
    };
  }
};

bool begins_with(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& beginning) {
  return tokens.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), tokens.begin());
}

/// What is decided stays: each list begins with the one before, and the best hypothesis with the last.
TEST_F(TranslationEngineTest, WhatIsDecidedOfATranslationNeverChanges) {
  const auto sources = random_sources(40);
  const std::vector<std::pair<std::string, DecodingOptions>> searches = {
      {"greedy", {.strategy = "greedy", .maximum_length = 14}},
      {"sampling", {.strategy = "sampling", .maximum_length = 14, .sampling = {.temperature = 1.4, .seed = 4}}},
      {"three samples", {.strategy = "sampling", .n_best = 3, .maximum_length = 14}},
      {"beam", {.beam_size = 4, .n_best = 2, .maximum_length = 14}},
      {"diverse", {.beam_size = 4, .beam_groups = 2, .diversity_strength = 0.5, .maximum_length = 14}},
  };
  for (const auto& [name, options] : searches) {
    const auto search = std::make_shared<const SearchPlan>(options);
    std::size_t decided_early = 0;
    std::vector<Told> first;
    for (const int threads : {1, 3}) {
      std::vector<Told> told(sources.size());
      TranslationEngine engine(runtime_, *model_, {.threads = threads, .limits = {.maximum_rows = 24}});
      Client client(engine);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        TranslationRequest watched = request(sources[i], i, search);
        if (i % 3 == 0) watched.target_prefix = {5, 6};
        watched.on_partial = told[i].on_partial();
        client.submit(std::move(watched), [&, i](TranslationResult result) {
          EXPECT_EQ(message_of(result.error), "");
          told[i].result = std::move(result.hypotheses);
        });
      }
      client.wait();
      for (const Told& sentence : told) {
        const std::vector<std::int32_t>* before = nullptr;
        for (std::size_t k = 0; k < sentence.decided.size(); ++k) {
          const auto& now = sentence.decided[k];
          EXPECT_TRUE(before == nullptr || begins_with(now, *before)) << name;
          EXPECT_TRUE(begins_with(sentence.leading[k], now)) << name;
          EXPECT_TRUE(begins_with(sentence.result.front().tokens, now)) << name;
          EXPECT_TRUE(now == sentence.leading[k] || (name != "greedy" && name != "sampling")) << name;
          before = &now;
        }
        decided_early += before == nullptr ? 0 : before->size();
        // A call for each token, with it.
        if (name == "greedy") {
          const std::size_t prefix = (&sentence - told.data()) % 3 == 0 ? 2 : 0;
          EXPECT_EQ(sentence.decided.size(), sentence.result.front().tokens.size() - prefix);
        }
      }
      if (first.empty()) {
        first = std::move(told);
        continue;
      }
      for (std::size_t i = 0; i < sources.size(); ++i) {
        EXPECT_EQ(told[i].decided, first[i].decided) << name;
        EXPECT_EQ(told[i].leading, first[i].leading) << name;
        expect_equal(told[i].result, first[i].result);
      }
    }
    EXPECT_GT(decided_early, name == "three samples" ? 0U : 40U) << name;
  }
}

TEST_F(TranslationEngineTest, WhoWatchesMayStopOrFailTheRequestAlone) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client client(engine);
  std::vector<std::string> messages(4, "not called");
  std::stop_source stop;
  int calls = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    TranslationRequest watched = request({7, 8, 9, 2}, i, endless());
    if (i == 1) {
      watched.stop = stop.get_token();
      watched.on_partial = [&](const PartialTranslation& partial) {
        ++calls;
        if (partial.tokens.size() == 5) stop.request_stop();
      };
    }
    if (i == 2)
      watched.on_partial = [](const PartialTranslation& partial) {
        if (partial.tokens.size() == 63) throw std::runtime_error("enough of the last step");
      };
    client.submit(std::move(watched),
                  [&messages, i](const TranslationResult& result) { messages[i] = message_of(result.error); });
  }
  client.wait();
  using ::testing::HasSubstr;
  EXPECT_THAT(messages, ::testing::ElementsAre("", HasSubstr("interrupted"), "enough of the last step", ""));
  EXPECT_EQ(calls, 5);
}

TEST_F(TranslationEngineTest, ScoresAreThoseOfTeacherForcing) {
  const auto sources = random_sources(120);
  TranslationEngine engine(runtime_, *model_, {.threads = 2});
  Client client(engine);
  std::vector<decoding::TargetScore> scores(sources.size());
  std::atomic<int> translated = 0;
  const auto short_search = std::make_shared<const SearchPlan>(DecodingOptions{.maximum_length = 5});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::vector<std::int32_t> target(sources[(i + 1) % sources.size()]);
    target.pop_back();
    client.submit(ScoreRequest{.source = sources[i],
                               .target = std::move(target),
                               .penalty = decoding::LengthPenalty::preset("fairseq"),
                               .stop = {}},
                  [&, i](ScoreResult result) {
                    EXPECT_EQ(message_of(result.error), "");
                    scores[i] = std::move(result.score);
                  });
    // Both kinds get on.
    client.submit(request(sources[i], i, short_search), [&](const TranslationResult& result) {
      EXPECT_EQ(message_of(result.error), "");
      ++translated;
    });
  }
  client.wait();
  EXPECT_EQ(translated, 120);
  const auto context = make_context();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::vector<std::int32_t> target(sources[(i + 1) % sources.size()]);
    target.pop_back();
    const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(sources[i].size())};
    const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(target.size())};
    const auto expected = decoding::score(*model_, *context, {sources[i], source_offsets}, {target, target_offsets},
                                          decoding::LengthPenalty::preset("fairseq"));
    EXPECT_EQ(scores[i].token_log_probabilities, expected.front().token_log_probabilities);
    EXPECT_EQ(scores[i].log_probability, expected.front().log_probability);
    EXPECT_EQ(scores[i].score, expected.front().score);
  }
}

/// What a request wants to see is what decoding::inner_states() sees alone, whatever else goes through with it.
TEST_F(TranslationEngineTest, LooksInsideForEachRequestAsItWouldAlone) {
  using decoding::AttentionKind;
  const auto sources = random_sources(40);
  const decoding::InnerStatesRequest wanted[] = {
      {.attention = decoding::AttentionRequest{.kind = AttentionKind::kCross, .mean = true}},
      {.attention = decoding::AttentionRequest{.kind = AttentionKind::kDecoder, .full_context = true},
       .states = decoding::StatesRequest{}},
      {.states = decoding::StatesRequest{.final_states = false, .layers = {0}}},
  };
  std::vector<std::vector<std::int32_t>> targets(sources.size());
  std::vector<decoding::InnerStates> inner(sources.size());
  {
    TranslationEngine engine(runtime_, *model_, {.threads = 2});
    Client client(engine);
    const SharedSearch searches[] = {
        std::make_shared<const SearchPlan>(DecodingOptions{.maximum_length = 9}),
        std::make_shared<const SearchPlan>(DecodingOptions{.minimum_length = 63, .maximum_length = 63})};
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (i % 2 == 0) {
        TranslationRequest what = request(sources[i], i, searches[i / 2 % 2]);
        what.inner = wanted[i % 3];
        client.submit(std::move(what), [&, i](TranslationResult result) {
          EXPECT_EQ(message_of(result.error), "");
          const Hypothesis& best = result.hypotheses.front();
          targets[i] = best.tokens;
          if (best.stopped_by == decoding::StoppedBy::kLength) targets[i].pop_back();
          inner[i] = std::move(result.inner);
        });
      } else {
        // The encoder's states need neither a score nor a target.
        const bool of_encoder = i % 3 == 2;
        if (!of_encoder) targets[i] = {5, 6, 7};
        client.submit(
            ScoreRequest{.source = sources[i], .target = targets[i], .scored = !of_encoder, .inner = wanted[i % 3]},
            [&, i, of_encoder](ScoreResult result) {
              EXPECT_EQ(message_of(result.error), "");
              EXPECT_EQ(result.score.token_log_probabilities.size(), of_encoder ? 0U : 4U);
              inner[i] = std::move(result.inner);
            });
      }
    }
    client.wait();
  }
  const auto context = make_context();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(sources[i].size())};
    const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(targets[i].size())};
    const auto expected = decoding::inner_states(*model_, *context, {sources[i], source_offsets},
                                                 {targets[i], target_offsets}, wanted[i % 3])
                              .front();
    EXPECT_EQ(inner[i].attention.values, expected.attention.values) << i;
    EXPECT_EQ(inner[i].states.values, expected.states.values) << i;
    EXPECT_FALSE(expected.attention.values.empty() && expected.states.values.empty());
  }
}

}  // namespace
}  // namespace dragoman::engine
