#include "dragoman/engine/translation_engine.h"

#include "failing_allocation.h"
#include "no_more_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::engine {
namespace {

using decoding::DecodingOptions;
using decoding::Hypothesis;
using decoding::SearchPlan;
using decoding::SharedSearch;
using Hypotheses = std::vector<Hypothesis>;

std::vector<std::vector<std::int32_t>> random_sources(std::size_t count) {
  std::vector<std::vector<std::int32_t>> sources(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t length = core::random_below(17, 5, i, 0);
    for (std::uint64_t t = 0; t < length; ++t)
      sources[i].push_back(4 + static_cast<std::int32_t>(core::random_below(200, 5, i, t + 1)));
    sources[i].push_back(nn::SequenceSpec{}.end);
  }
  return sources;
}

std::string message_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

void expect_equal(const Hypotheses& a, const Hypotheses& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tokens, b[i].tokens);
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].token_log_probabilities, b[i].token_log_probabilities);
    EXPECT_EQ(a[i].alignment, b[i].alignment);
  }
}

class TranslationEngineTest : public ::testing::Test {
 protected:
  TranslationEngineTest() : model_(transformer::make_transformer(spec(), config())) {
    const auto context = make_context();
    model_->parameters().allocate(context->memory(), context->float_type(), tensor::Device::kCpu);
    model_->parameters().initialise(3);
    model_->parameters().prepare(*context, tensor::ComputeType::kF32);
  }

  static nn::SequenceSpec spec() {
    nn::SequenceSpec result;
    result.source_vocabulary = 211;
    result.target_vocabulary = 211;
    result.maximum_source_length = 64;
    result.maximum_target_length = 64;
    return result;
  }
  static core::Json config() {
    return {{"d_model", 32},       {"heads", 4},          {"feed_forward", 48},
            {"encoder_layers", 1}, {"decoder_layers", 1}, {"tying", "all"}};
  }
  std::unique_ptr<tensor::Context> make_context() { return runtime_.make_context(tensor::Device::kCpu, executor_); }

  /// By a decoding loop of its own, which knows of nothing else.
  Hypotheses alone(const std::vector<std::int32_t>& source, std::uint64_t line, const SharedSearch& search) {
    const auto context = make_context();
    decoding::ModelStepper stepper(*model_, *context);
    return decode_all(stepper, {{.source = source, .line = line}}, search).front();
  }
  static TranslationRequest request(std::vector<std::int32_t> source, std::uint64_t line, SharedSearch search) {
    return {.source = std::move(source), .target_prefix = {}, .line = line, .search = std::move(search), .stop = {}};
  }

  /// A search that takes a while: nothing ends before the longest length.
  static SharedSearch endless() {
    return std::make_shared<const SearchPlan>(DecodingOptions{.minimum_length = 63, .maximum_length = 63});
  }

  runtime::Runtime runtime_;
  core::SequentialExecutor executor_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

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

/// Helpers spin while there is something to share, and not longer.
TEST_F(TranslationEngineTest, AnIdleEngineTakesNoProcessorTime) {
  const auto processor_seconds = [] {
    std::timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  TranslationEngine engine(runtime_, *model_, {.threads = 4});
  Client client(engine);
  for (const auto& source : random_sources(20)) {
    client.submit(request(source, 0, endless()), [](const TranslationResult&) {});
    client.wait();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processor_seconds() - before, 0.05);
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
  EXPECT_THAT(messages, ::testing::ElementsAre("", HasSubstr("stopped"), "enough of the last step", ""));
  EXPECT_EQ(calls, 5);
}

TEST_F(TranslationEngineTest, EachFirstAndEachFurtherTokenHasItsLatency) {
  TranslationEngine engine(runtime_, *model_, {.threads = 2});
  EXPECT_EQ(engine.latencies().first_token.count, 0U);
  const auto greedy = std::make_shared<const SearchPlan>(DecodingOptions{.strategy = "greedy", .maximum_length = 9});
  std::atomic<std::uint64_t> steps = 0;
  const auto sources = random_sources(30);
  Client client(engine);
  for (const auto& source : sources)
    client.submit(request(source, 0, greedy), [&](const TranslationResult& result) {
      // The end, or what would have followed the longest length, is a step, too.
      steps += result.hypotheses.front().tokens.size() + 1;
    });
  client.wait();
  const Latencies found = engine.latencies();
  EXPECT_EQ(found.first_token.count, sources.size());
  EXPECT_EQ(found.next_token.count, steps - sources.size());
  for (const LatencySummary& summary : {found.first_token, found.next_token}) {
    EXPECT_LE(summary.p50, summary.p95);
    EXPECT_LE(summary.p95, summary.max);
    EXPECT_GT(summary.max, 0);
  }
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

TEST_F(TranslationEngineTest, LookingForWhatIsNotThereFailsThatRequestAlone) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client client(engine);
  const auto sources = random_sources(4);
  const decoding::InnerStatesRequest ninth{.attention = decoding::AttentionRequest{.layers = {9}}};
  std::vector<std::string> messages(4, "not called");
  for (std::size_t i = 0; i < 4; ++i) {
    const bool bad = i % 2 == 1;
    if (i < 2) {
      TranslationRequest what = request(sources[i], i, nullptr);
      if (bad) what.inner = ninth;
      client.submit(std::move(what),
                    [&messages, i](const TranslationResult& result) { messages[i] = message_of(result.error); });
    } else {
      ScoreRequest what{.source = sources[i], .target = {5}};
      if (bad) what.inner = ninth;
      client.submit(std::move(what),
                    [&messages, i](const ScoreResult& result) { messages[i] = message_of(result.error); });
    }
  }
  client.wait();
  using ::testing::HasSubstr;
  EXPECT_THAT(messages,
              ::testing::ElementsAre("", HasSubstr("no attention layer 9"), "", HasSubstr("no attention layer 9")));
}

TEST_F(TranslationEngineTest, AFailureIsThatOfItsRequest) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client client(engine);
  std::vector<std::string> messages(7, "not called");
  const auto translate = [&](std::size_t i, TranslationRequest what) {
    client.submit(std::move(what),
                  [&messages, i](const TranslationResult& result) { messages[i] = message_of(result.error); });
  };
  const auto score = [&](std::size_t i, ScoreRequest what) {
    client.submit(std::move(what),
                  [&messages, i](const ScoreResult& result) { messages[i] = message_of(result.error); });
  };
  const auto sources = random_sources(7);
  translate(0, request(sources[0], 0, nullptr));
  translate(1, request({999, 2}, 1, nullptr));
  translate(2, request(sources[2], 2, std::make_shared<const SearchPlan>(DecodingOptions{.strategy = "broken"}, [] {
                         return std::unique_ptr<decoding::SearchStrategy>();
                       })));
  std::stop_source stop;
  stop.request_stop();
  TranslationRequest stopped = request(sources[3], 3, nullptr);
  stopped.stop = stop.get_token();
  translate(3, std::move(stopped));
  score(4, {.source = sources[4], .target = {5, 6}, .penalty = {}, .stop = {}});
  score(5, {.source = sources[5], .target = {5, 999}, .penalty = {}, .stop = {}});
  translate(6, request(sources[6], 6, nullptr));
  client.wait();
  using ::testing::HasSubstr;
  EXPECT_THAT(messages,
              ::testing::ElementsAre("", HasSubstr("outside of the vocabulary"), HasSubstr("no search strategy"),
                                     HasSubstr("stopped"), "", HasSubstr("999"), ""));
}

TEST_F(TranslationEngineTest, ADeviceSaysHowManyWorkersItIsBestGiven) {
  class OneWorker final : public tensor::Backend {
   public:
    OneWorker() : Backend("one_worker") {}
    int device_count() const override { return 1; }
    tensor::DeviceMemory& memory(int) const override { return tensor::host_memory(); }
    tensor::DType float_type() const override { return tensor::DType::kF32; }
    std::string describe() const override { return "for a test"; }
    tensor::PreferredLoad preferred_load(int, tensor::ComputeType) const override { return {.workers = 1}; }
  };
  runtime_.add(std::make_shared<OneWorker>());
  const tensor::Device device = tensor::Device::of("one_worker");
  EXPECT_EQ(TranslationEngine(runtime_, *model_, {.device = device}).threads(), 1);
  EXPECT_EQ(TranslationEngine(runtime_, *model_, {.threads = 3, .device = device}).threads(), 3);
  EXPECT_EQ(TranslationEngine(runtime_, *model_, EngineOptions{}).threads(), core::thread_count(0));
}

TEST_F(TranslationEngineTest, WhatCannotBeComputedWithFailsRequestByRequest) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1, .device = tensor::Device::of("nowhere")});
  Client client(engine);
  std::atomic<int> failed = 0;
  for (const auto& source : random_sources(30)) {
    client.submit(request(source, 0, nullptr),
                  [&](const TranslationResult& result) { failed += message_of(result.error).empty() ? 0 : 1; });
    client.submit(ScoreRequest{.source = source, .target = {}, .penalty = {}, .stop = {}},
                  [&](const ScoreResult& result) { failed += message_of(result.error).empty() ? 0 : 1; });
  }
  client.wait();
  EXPECT_EQ(failed, 60);
}

TEST_F(TranslationEngineTest, AProcessorThatMakesNoSenseFailsItsOwnSentences) {
  class Edit final : public decoding::LogitsProcessor {
   public:
    explicit Edit(ops::LogitEdit edit) : edit_(edit) {}
    void apply(const decoding::SentenceState&, const decoding::LiveHypothesis&, decoding::RowEdits& edits) override {
      if (edit_.penalty != 1) edits.penalise(edit_.token, edit_.penalty);
      if (edit_.penalty == 1) edits.add(edit_.token, edit_.bias);
    }

   private:
    ops::LogitEdit edit_;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client good(engine);
  Client bad(engine);
  std::atomic<int> translated = 0;
  std::vector<std::string> messages(4);
  for (const auto& source : random_sources(8))
    good.submit(request(source, 0, nullptr),
                [&](const TranslationResult& result) { translated += message_of(result.error).empty() ? 1 : 0; });
  const ops::LogitEdit edits[] = {{.token = 999}, {.token = -1}, {.token = 5, .penalty = 0}, {.token = 5, .bias = nan}};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto search = std::make_shared<const SearchPlan>(
        DecodingOptions{}, [] { return decoding::make_strategy({}); },
        [edit = edits[i]](const nn::SequenceSpec&) {
          decoding::LogitsProcessors processors;
          processors.push_back(std::make_unique<Edit>(edit));
          return processors;
        });
    bad.submit(request(random_sources(1)[0], 0, search),
               [&messages, i](const TranslationResult& result) { messages[i] = message_of(result.error); });
  }
  good.wait();
  bad.wait();
  EXPECT_EQ(translated, 8) << "others' sentences are in the same steps";
  EXPECT_THAT(messages, ::testing::Each(::testing::HasSubstr("a logits processor changes the token")));
}

TEST_F(TranslationEngineTest, ASearchThatThrowsFailsItsSentencesAndTheEngineGoesOn) {
  /// Runs out of memory in the middle of a sentence.
  class Greedy final : public decoding::SearchStrategy {
   public:
    explicit Greedy(std::atomic<bool>& broken) : broken_(&broken) {}
    decoding::StepNeeds needs(std::int64_t) const override { return {}; }
    std::int32_t maximum_live() const override { return 1; }
    void advance(decoding::SentenceState& state, const decoding::Candidates& candidates,
                 decoding::Advance& result) override {
      if (*broken_ && state.length == 3) throw std::bad_alloc();
      if (state.length == state.maximum_length)
        result.endings.push_back({0, decoding::StoppedBy::kLength, 0, 0});
      else
        result.continuations.push_back({0, 5, candidates.log_probability(0, 0)});
    }

   private:
    std::atomic<bool>* broken_;
  };
  std::atomic<bool> broken = true;
  const auto search = std::make_shared<const SearchPlan>(DecodingOptions{.maximum_length = 6},
                                                         [&] { return std::make_unique<Greedy>(broken); });
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  std::atomic<int> failed = 0;
  std::atomic<int> translated = 0;
  Client client(engine);
  for (const bool fails : {true, false}) {
    broken = fails;
    for (const auto& source : random_sources(5))
      client.submit(request(source, 0, search),
                    [&](const TranslationResult& result) { ++(result.error ? failed : translated); });
    client.wait();
  }
  EXPECT_EQ(failed, 5);
  EXPECT_EQ(translated, 5);
}

TEST_F(TranslationEngineTest, AShortRequestDoesNotWaitForALongQueue) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1, .limits = {.maximum_rows = 8}});
  const SharedSearch slow = endless();
  Client bulk(engine);
  std::atomic<int> bulk_done = 0;
  for (const auto& source : random_sources(60))
    bulk.submit(request(source, 0, slow), [&](const TranslationResult&) { ++bulk_done; });
  Client other(engine);
  int done_before = -1;
  other.submit(request({7, 8, 2}, 0, slow), [&](const TranslationResult&) { done_before = bulk_done; });
  other.wait();
  // Two fit in the pool at a time, so at most those in it and one turn each come first.
  EXPECT_LE(done_before, 8);
  bulk.cancel();
}

TEST_F(TranslationEngineTest, ACancelledClientEndsSoonAndOthersAreNotTouched) {
  TranslationEngine engine(runtime_, *model_, {.threads = 2});
  std::atomic<int> interrupted = 0;
  std::atomic<int> done = 0;
  Client other(engine);
  {
    Client client(engine);
    for (const auto& source : random_sources(500))
      client.submit(request(source, 0, endless()), [&](const TranslationResult& result) {
        ++(message_of(result.error).find("stopped") != std::string::npos ? interrupted : done);
      });
    other.submit(request({7, 8, 2}, 0, nullptr),
                 [](const TranslationResult& result) { EXPECT_EQ(message_of(result.error), ""); });
    client.cancel();
    EXPECT_THROW(client.submit(request({7, 2}, 0, nullptr), [](const TranslationResult&) {}), core::Error);
  }
  EXPECT_EQ(interrupted + done, 500) << "each callback is called before the client is gone";
  EXPECT_GT(interrupted, 300);
  other.wait();
}

TEST_F(TranslationEngineTest, WhoSubmitsTooMuchWaits) {
  constexpr std::size_t kBytes = 2000;
  TranslationEngine engine(runtime_, *model_, {.threads = 1, .limits = {.maximum_rows = 4}, .client_bytes = kBytes});
  Client client(engine);
  std::atomic<int> under_way = 0;
  int most = 0;
  const auto search = std::make_shared<const SearchPlan>(DecodingOptions{.maximum_length = 4});
  for (const auto& source : random_sources(200)) {
    ++under_way;
    client.submit(request(source, 0, search), [&](const TranslationResult&) { --under_way; });
    most = std::max(most, under_way.load());
  }
  client.wait();
  EXPECT_LE(most, 12) << "a request takes more than 256 bytes";
}

TEST_F(TranslationEngineTest, OneWorkerIsEnoughForOneRequestAtATime) {
  TranslationEngine engine(runtime_, *model_, {.threads = 8});
  Client client(engine);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 20; ++i) {
    client.submit(request({7, 8, 2}, 0, nullptr), [&](const TranslationResult&) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    client.wait();
  }
  EXPECT_EQ(threads.size(), 1U);
}

TEST_F(TranslationEngineTest, WhatACallbackThrowsReachesWhoWaits) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client client(engine);
  client.submit(request({7, 2}, 0, nullptr), [](const TranslationResult&) { throw std::runtime_error("no room"); });
  EXPECT_THROW(client.wait(), std::runtime_error);
  client.wait();
}

/// What a callback holds may belong to who waits, so it is gone when the waiting is over.
TEST_F(TranslationEngineTest, ACallbackIsGoneBeforeTheWaitIsOver) {
  struct Held {
    std::atomic<int>* gone;
    ~Held() {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++*gone;
    }
  };
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client client(engine);
  std::atomic<int> gone = 0;
  const auto sources = random_sources(4);
  for (int i = 1; i <= 4; ++i) {
    client.submit(request(sources[static_cast<std::size_t>(i) - 1], 0, nullptr),
                  [held = std::make_shared<Held>(&gone)](const TranslationResult&) {});
    client.wait();
    EXPECT_EQ(gone, i);
  }
}

/// Each allocation of a worker fails once, alone and with all that come after it; every request is answered all the
/// same, and afterwards the engine works as before.
TEST_F(TranslationEngineTest, NoRequestIsLostWhereThereIsNoMemory) {
  const auto sources = random_sources(12);
  const auto search = std::make_shared<const SearchPlan>(DecodingOptions{.beam_size = 2, .maximum_length = 3});
  std::stop_source stop;
  stop.request_stop();
  const auto submit_all = [&](Client& client, std::atomic<int>& answers) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      client.submit(request(sources[i], i, search), [&](const TranslationResult&) { ++answers; });
      ScoreRequest pair{.source = sources[i], .target = {5, 6}, .penalty = {}, .stop = {}};
      if (i % 3 == 0) pair.stop = stop.get_token();
      if (i % 4 == 0) pair.target = {999};
      client.submit(std::move(pair), [&](const ScoreResult&) { ++answers; });
    }
    client.wait();
  };
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  std::int64_t allocations = 0;
  for (const bool only_one : {true, false}) {
    // The first ones are those of a new worker; later ones come again and again, so not each is tried.
    for (std::int64_t first = 1;; first += first < 400 ? 1 : 17) {
      TranslationEngine engine(runtime_, *model_, {.threads = 1, .limits = {.maximum_rows = 6}});
      Client client(engine);
      std::atomic<int> answers = 0;
      {
        const dragoman::testing::FailingAllocations failing(first, only_one ? first : kAll);
        submit_all(client, answers);
        allocations = failing.count();
      }
      ASSERT_EQ(answers, 24) << "allocation " << first << " failed";
      client.submit(request(sources[0], 0, search),
                    [&](const TranslationResult& result) { EXPECT_EQ(message_of(result.error), "") << first; });
      client.wait();
      if (first > allocations) break;
    }
    EXPECT_GT(allocations, 20);
  }
}

TEST_F(TranslationEngineTest, WithoutThreadsThereIsAnError) {
  TranslationEngine engine(runtime_, *model_, {.threads = 2});
  Client client(engine);
  {
    const dragoman::testing::NoMoreThreads refused;
    try {
      client.submit(request({7, 2}, 0, nullptr), [](const TranslationResult&) { FAIL() << "was translated"; });
      FAIL() << "it was taken";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("cannot start a thread"));
    }
  }
  client.submit(request({7, 2}, 0, nullptr),
                [](const TranslationResult& result) { EXPECT_EQ(message_of(result.error), ""); });
  client.wait();
}

/// It is refused before others could suffer for it.
TEST_F(TranslationEngineTest, AShortlistIsNotForAnEnsemble) {
  TranslationEngine engine(runtime_, decoding::Ensemble{.models = {model_.get(), model_.get()}}, {.threads = 1});
  Client client(engine);
  const decoding::Shortlist shortlist({.source_size = 211, .target_size = 211}, {}, std::vector<std::int32_t>{7}, 1);
  const auto search = std::make_shared<const SearchPlan>(DecodingOptions{});
  Hypotheses found;
  client.submit(request(random_sources(1)[0], 1, search), [&](TranslationResult result) {
    EXPECT_EQ(message_of(result.error), "");
    found = std::move(result.hypotheses);
  });
  TranslationRequest listed = request(random_sources(2)[1], 2, search);
  listed.shortlist = &shortlist;
  EXPECT_THROW(client.submit(std::move(listed), [](const TranslationResult&) {}), core::Error);
  client.wait();
  EXPECT_FALSE(found.empty());
}

}  // namespace
}  // namespace dragoman::engine
