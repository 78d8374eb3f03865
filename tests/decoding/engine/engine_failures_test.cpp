#include "failing_allocation.h"
#include "no_more_threads.h"
#include "translation_engine_fixture.h"

#include <atomic>
#include <limits>
#include <new>
#include <stdexcept>
#include <stop_token>

#include <gmock/gmock.h>

#include <dragoman/core/error.h>
#include <dragoman/decoding/shortlist.h>

namespace dragoman::engine {
namespace {

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

TEST_F(TranslationEngineTest, WhatACallbackThrowsReachesWhoWaits) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client client(engine);
  client.submit(request({7, 2}, 0, nullptr), [](const TranslationResult&) { throw std::runtime_error("no room"); });
  EXPECT_THROW(client.wait(), std::runtime_error);
  client.wait();
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
