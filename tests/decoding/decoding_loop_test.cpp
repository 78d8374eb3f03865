#include "dragoman/decoding/decoding_loop.h"

#include "table_model.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::decoding {
namespace {

using testing::expect_same;
using testing::random_sentences;
using testing::TableModel;

class Collected final : public HypothesisSink {
 public:
  void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    ids.push_back(id);
    results.push_back(std::move(hypotheses));
    if (on_delivery) on_delivery();
  }
  std::vector<std::uint64_t> ids;
  std::vector<std::vector<Hypothesis>> results;
  std::function<void()> on_delivery;
};

/// Gives its sentences; `stalls` times it has nothing, if asked not to wait.
class Given final : public SentenceSource {
 public:
  explicit Given(std::vector<Sentence> sentences, int stall_every = 0)
      : sentences_(std::move(sentences)), stall_every_(stall_every) {}
  Supply next(Sentence& sentence, bool may_wait) override {
    ++calls_;
    if (!may_wait && stall_every_ > 0 && calls_ % stall_every_ == 0) return Supply::kNone;
    if (position_ == sentences_.size()) return Supply::kEnd;
    sentence = sentences_[position_];
    sentence.id = 100 + position_++;
    return Supply::kSentence;
  }

  bool stopped(std::uint64_t id) override { return stopped_ids.contains(id); }

  std::set<std::uint64_t> stopped_ids;

 private:
  std::vector<Sentence> sentences_;
  int stall_every_;
  int calls_ = 0;
  std::size_t position_ = 0;
};

TEST(DecidedTokens, AreThoseOnWhichAllAgreeThatMayWin) {
  SentenceState state;
  EXPECT_EQ(stable_prefix_length(state), 0U);
  const auto live = [](std::vector<std::int32_t> tokens) { return LiveHypothesis{.tokens = std::move(tokens)}; };
  state.live = {live({5, 6, 7})};
  EXPECT_EQ(stable_prefix_length(state), 3U);
  state.live.push_back(live({5, 6, 8}));
  EXPECT_EQ(stable_prefix_length(state), 2U);
  state.finished = {{.tokens = {5, 9}}, {.tokens = {8}}};
  EXPECT_EQ(stable_prefix_length(state), 1U) << "the best that has ended may stay the best, others will not";
  state.finished.front().tokens = {5};
  EXPECT_EQ(stable_prefix_length(state), 1U);
  state.live.push_back(live({9, 9, 9}));
  EXPECT_EQ(stable_prefix_length(state), 0U);
}

TEST(DecodingLoop, ResultsDoNotDependOnLimitsOrOrder) {
  TableModel model({.vocabulary = 12, .end_bias = 0.5});
  const auto sentences = random_sentences(60, 8);
  for (const char* strategy : {"beam", "greedy", "sampling"}) {
    DecodingOptions options{.strategy = strategy, .no_repeat_ngram = 3, .want_alignment = true};
    options.n_best = options.strategy == "greedy" ? 1 : 3;
    const auto alone = decode_all(model, sentences, options, LoopLimits{.maximum_rows = 1});
    for (const std::int64_t rows : {7, 32, 10000})
      expect_same(alone, decode_all(model, sentences, options, LoopLimits{.maximum_rows = rows}));
    expect_same(alone, decode_all(model, sentences, options, LoopLimits{.maximum_encoder_tokens = 9}));
    expect_same(alone, decode_all(model, sentences, options, LoopLimits{.maximum_state_bytes = 350}));
    auto shuffled = sentences;
    std::rotate(shuffled.begin(), shuffled.begin() + 23, shuffled.end());
    auto rotated = decode_all(model, shuffled, options, LoopLimits{.maximum_rows = 20});
    std::rotate(rotated.begin(), rotated.end() - 23, rotated.end());
    expect_same(alone, rotated);
  }
}

TEST(DecodingLoop, KeepsWithinItsLimitsAndReleasesEverything) {
  TableModel model({.vocabulary = 12});
  const auto sentences = random_sentences(60, 8);
  decode_all(model, sentences, DecodingOptions{}, LoopLimits{.maximum_rows = 40});
  EXPECT_LE(model.largest_step(), 40U);
  EXPECT_GT(model.largest_step(), 20U);
  EXPECT_GT(model.largest_admission(), 4U) << "sentences are to be encoded together";
  EXPECT_EQ(model.live_slots(), 0U);
}

TEST(DecodingLoop, KeepsWithinItsMemory) {
  TableModel model({.vocabulary = 12});
  // The table model takes 100 bytes per sentence.
  DecodingLoop loop(model, {.strategy = "greedy"}, {.maximum_state_bytes = 350});
  Given source(random_sentences(20, 8));
  Collected sink;
  EXPECT_TRUE(loop.run(source, sink));
  EXPECT_EQ(model.largest_step(), 3U);
  EXPECT_EQ(sink.ids.size(), 20U);
}

TEST(DecodingLoop, AStalledSourceDoesNotHoldUpWhatIsInFlight) {
  TableModel model({.vocabulary = 12});
  const auto sentences = random_sentences(30, 6);
  DecodingLoop loop(model, DecodingOptions{}, {.maximum_rows = 24});
  Given source(sentences, 2);
  Collected sink;
  EXPECT_TRUE(loop.run(source, sink));
  const auto expected = decode_all(model, sentences, DecodingOptions{});
  ASSERT_EQ(sink.ids.size(), sentences.size());
  std::vector<std::vector<Hypothesis>> sorted(sentences.size());
  for (std::size_t i = 0; i < sink.ids.size(); ++i) sorted[sink.ids[i] - 100] = sink.results[i];
  expect_same(expected, sorted);
}

TEST(DecodingLoop, StopsWhenAskedAndCanRunAgain) {
  TableModel model({.vocabulary = 12});
  const auto sentences = random_sentences(40, 6);
  DecodingLoop loop(model, DecodingOptions{}, {.maximum_rows = 16});
  std::stop_source stop;
  Collected sink;
  sink.on_delivery = [&] {
    if (sink.ids.size() == 5) stop.request_stop();
  };
  Given source(sentences);
  EXPECT_FALSE(loop.run(source, sink, stop.get_token()));
  EXPECT_GE(sink.ids.size(), 5U);
  EXPECT_LT(sink.ids.size(), 40U);
  EXPECT_EQ(model.live_slots(), 0U);
  Collected all;
  Given again(sentences);
  EXPECT_TRUE(loop.run(again, all));
  EXPECT_EQ(all.ids.size(), 40U);
}

TEST(DecodingLoop, AFailureLeavesNothingBehind) {
  TableModel model({.vocabulary = 12});
  DecodingLoop loop(model, DecodingOptions{}, {.maximum_rows = 16});
  Collected sink;
  sink.on_delivery = [] { throw std::runtime_error("full"); };
  Given source(random_sentences(40, 6));
  EXPECT_THROW(loop.run(source, sink), std::runtime_error);
  EXPECT_EQ(model.live_slots(), 0U);
  Collected all;
  Given again(random_sentences(40, 6));
  EXPECT_TRUE(loop.run(again, all));
  EXPECT_EQ(all.ids.size(), 40U);
}

TEST(DecodingLoop, AModelThatNeverEndsIsCutAndSaysSo) {
  TableModel model({.vocabulary = 6, .end_bias = -std::numeric_limits<double>::infinity()});
  const auto sentences = random_sentences(10, 5);
  for (const char* strategy : {"beam", "greedy", "sampling"}) {
    DecodingLoop loop(model, {.strategy = strategy});
    Given source(sentences);
    Collected sink;
    EXPECT_TRUE(loop.run(source, sink));
    EXPECT_EQ(loop.statistics().cut_sentences, 10U);
    for (std::size_t i = 0; i < sink.ids.size(); ++i) {
      const Hypothesis& best = sink.results[i][0];
      const std::size_t source_length = sentences[sink.ids[i] - 100].source.size() - 1;
      EXPECT_EQ(best.stopped_by, StoppedBy::kLength);
      EXPECT_EQ(best.tokens.size(), 2 * source_length + 10);
      EXPECT_EQ(best.token_log_probabilities.size(), best.tokens.size());
    }
  }
}

TEST(DecodingLoop, TheLongestTranslationMayStillEnd) {
  // Nothing but the end after two tokens.
  TableModel model({.vocabulary = 5, .end_bias = 40});
  const auto found = decode_all(model, random_sentences(5, 3), {.minimum_length = 2, .maximum_length = 2});
  for (const auto& hypotheses : found) {
    EXPECT_EQ(hypotheses[0].tokens.size(), 2U);
    EXPECT_EQ(hypotheses[0].stopped_by, StoppedBy::kEnd);
  }
}

TEST(DecodingLoop, SentencesOfNothingButTheEnd) {
  TableModel model({.vocabulary = 8});
  const auto found = decode_all(model, {{.source = {TableModel::kEnd}}}, DecodingOptions{});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].empty());
  EXPECT_LE(found[0][0].tokens.size(), 10U);
}

TEST(DecodingLoop, NoSentencesNoResults) {
  TableModel model({});
  EXPECT_TRUE(decode_all(model, {}, DecodingOptions{}).empty());
}

TEST(DecodingLoop, EveryHypothesisStartsWithThePrefix) {
  TableModel model({.vocabulary = 9});
  auto sentences = random_sentences(12, 5);
  for (std::size_t i = 0; i < sentences.size(); ++i) sentences[i].target_prefix.assign(i % 4, 5);
  for (const char* strategy : {"beam", "greedy", "sampling"}) {
    DecodingOptions options{.strategy = strategy};
    options.n_best = options.strategy == "greedy" ? 1 : 4;
    const auto found = decode_all(model, sentences, options);
    for (std::size_t i = 0; i < sentences.size(); ++i)
      for (const Hypothesis& hypothesis : found[i]) {
        const auto& prefix = sentences[i].target_prefix;
        ASSERT_GE(hypothesis.tokens.size(), prefix.size());
        EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), hypothesis.tokens.begin()));
        std::vector<std::int32_t> before;
        for (std::size_t t = 0; t < prefix.size(); ++t) {
          EXPECT_NEAR(hypothesis.token_log_probabilities[t], model.distribution(sentences[i].source, before)[5], 1e-12);
          before.push_back(5);
        }
      }
  }
}

TEST(DecodingLoop, APrefixLongerThanTheUsualLimitRaisesIt) {
  TableModel model({.vocabulary = 9});
  const auto found =
      decode_all(model, {{.source = {3, 2}, .target_prefix = std::vector<std::int32_t>(30, 4)}}, DecodingOptions{});
  EXPECT_EQ(found[0][0].tokens.size(), 30U);
}

TEST(DecodingLoop, AlignmentsAreThoseOfTheHypothesisOwnHistory) {
  TableModel model({.vocabulary = 9});
  auto sentences = random_sentences(12, 5);
  sentences[3].target_prefix = {4, 4};
  const auto found = decode_all(model, sentences, {.n_best = 4, .want_alignment = true});
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (const Hypothesis& hypothesis : found[i]) {
      ASSERT_EQ(hypothesis.alignment.size(), hypothesis.token_log_probabilities.size());
      std::vector<std::int32_t> before;
      for (std::size_t t = 0; t < hypothesis.alignment.size(); ++t) {
        EXPECT_EQ(hypothesis.alignment[t], model.attention(sentences[i].source, before));
        if (t < hypothesis.tokens.size()) before.push_back(hypothesis.tokens[t]);
      }
    }
}

TEST(DecodingLoop, BadSentencesAreNamed) {
  TableModel model({.vocabulary = 5, .maximum_target_length = 8});
  const std::vector<Sentence> bad{{.source = {}},
                                  {.source = std::vector<std::int32_t>(65, 3)},
                                  {.source = {5, 2}},
                                  {.source = {-1, 2}},
                                  {.source = {3, 2}, .target_prefix = {5}},
                                  {.source = {3, 2}, .target_prefix = {TableModel::kEnd}},
                                  {.source = {3, 2}, .target_prefix = std::vector<std::int32_t>(8, 3)},
                                  {.source = {3, 2}, .line = std::uint64_t{1} << 48}};
  for (const Sentence& sentence : bad) {
    try {
      decode_all(model, {{.source = {3, 2}}, sentence}, DecodingOptions{});
      ADD_FAILURE() << "accepted";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("sentence 1"), std::string::npos) << error.what();
    }
    EXPECT_EQ(model.live_slots(), 0U);
  }
}

/// A search with a strategy of this type, made with these arguments.
template <class Strategy, class... Arguments>
SharedSearch search_with(Arguments... arguments) {
  return std::make_shared<const SearchPlan>(DecodingOptions{},
                                            [arguments...] { return std::make_unique<Strategy>(arguments...); });
}

/// A plugin's strategy with memory of its own: takes the second best token in every other step.
class Alternating final : public SearchStrategy {
 public:
  StepNeeds needs(std::int64_t) const override { return {.candidates = 2}; }
  std::int32_t maximum_live() const override { return 1; }
  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    if (!state.memory.has_value()) state.memory = 0;
    const int rank = std::any_cast<int>(state.memory);
    state.memory = 1 - rank;
    const std::int32_t token = candidates.token(0, rank);
    if (token == state.spec->end)
      result.endings.push_back({0, StoppedBy::kEnd, candidates.log_probability(0, rank), rank});
    else if (state.length == state.maximum_length)
      result.endings.push_back({0, StoppedBy::kLength, 0, 0});
    else
      result.continuations.push_back({0, token, candidates.log_probability(0, rank)});
  }
};

TEST(DecodingLoop, TakesStrategiesOfOthers) {
  TableModel model({.vocabulary = 9, .end_bias = -2});
  const auto sentences = random_sentences(10, 5);
  const auto found = decode_all(model, sentences, search_with<Alternating>());
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    std::vector<std::int32_t> before;
    for (std::size_t t = 0; t < found[i][0].tokens.size(); ++t) {
      auto next = model.distribution(sentences[i].source, before);
      std::vector<double> sorted = next;
      std::sort(sorted.rbegin(), sorted.rend());
      EXPECT_EQ(next[static_cast<std::size_t>(found[i][0].tokens[t])], sorted[t % 2]);
      before.push_back(found[i][0].tokens[t]);
    }
  }
}

class Runaway final : public SearchStrategy {
 public:
  StepNeeds needs(std::int64_t) const override { return {}; }
  std::int32_t maximum_live() const override { return 1; }
  void advance(SentenceState&, const Candidates& candidates, Advance& result) override {
    result.continuations.push_back({0, 3, candidates.log_probability(0, 0)});
  }
};

TEST(DecodingLoop, FaultyStrategiesAreCaught) {
  TableModel model({});
  EXPECT_THROW(decode_all(model, random_sentences(2, 3), search_with<Runaway>()), core::Error);
  EXPECT_EQ(model.live_slots(), 0U);
}

/// Makes promises that no loop can work with.
class Promising final : public SearchStrategy {
 public:
  Promising(StepNeeds needs, std::int32_t starts, std::int32_t live) : needs_(needs), starts_(starts), live_(live) {}
  StepNeeds needs(std::int64_t) const override { return needs_; }
  std::int32_t starts() const override { return starts_; }
  std::int32_t maximum_live() const override { return live_; }
  void advance(SentenceState&, const Candidates&, Advance&) override {}

 private:
  StepNeeds needs_;
  std::int32_t starts_;
  std::int32_t live_;
};

TEST(DecodingLoop, StrategiesThatPromiseNonsenseAreRefused) {
  TableModel model({.vocabulary = 9});
  const auto refused = [&](StepNeeds needs, std::int32_t starts, std::int32_t live) {
    EXPECT_THROW(DecodingLoop(model, search_with<Promising>(needs, starts, live)), core::Error);
  };
  refused({}, 1, 0);
  refused({}, 0, 1);
  refused({}, -1, 1);
  refused({}, 2, 1);
  refused({.candidates = 0}, 1, 1);
  refused({.candidates = 10}, 1, 1);
  refused({.temperature = 0}, 1, 1);
  refused({.temperature = std::numeric_limits<double>::quiet_NaN()}, 1, 1);
}

/// A processor whose memory runs out.
class Failing final : public LogitsProcessor {
 public:
  void apply(const SentenceState&, const LiveHypothesis&, RowEdits&) override { throw std::bad_alloc(); }
};

SharedSearch failing_search() {
  return std::make_shared<const SearchPlan>(
      DecodingOptions{}, [] { return make_strategy({}); },
      [](const nn::SequenceSpec&) {
        LogitsProcessors processors;
        processors.push_back(std::make_unique<Failing>());
        return processors;
      });
}

TEST(DecodingLoop, WhateverFailsLeavesNoSentenceInTheModel) {
  TableModel model({});
  DecodingLoop loop(model, failing_search());
  Given source(random_sentences(5, 3));
  Collected sink;
  EXPECT_THROW(loop.run(source, sink), std::bad_alloc);
  EXPECT_EQ(model.live_slots(), 0U);
}

// --- sentences with searches, stops and failures of their own ---

TEST(DecodingLoop, SentencesOfDifferentSearchesDoNotTouchEachOther) {
  TableModel model({.vocabulary = 12, .end_bias = 0.5});
  const auto sentences = random_sentences(60, 8);
  const DecodingOptions kinds[] = {
      {.beam_size = 5, .n_best = 3, .no_repeat_ngram = 2},
      {.strategy = "greedy", .minimum_length = 4},
      {.strategy = "sampling", .n_best = 2, .sampling = {.temperature = 1.7, .seed = 9}},
      {.strategy = "sampling", .sampling = {.temperature = 0.6, .top_k = 3}},
      {.beam_size = 2, .coverage_penalty = 0.3, .want_alignment = true},
      {.strategy = "greedy", .maximum_length = 3},
  };
  std::vector<SharedSearch> searches;
  for (const DecodingOptions& options : kinds) searches.push_back(std::make_shared<const SearchPlan>(options));
  auto mixed = sentences;
  std::vector<std::vector<Hypothesis>> expected;
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    mixed[i].search = searches[i % searches.size()];
    expected.push_back(decode_all(model, {sentences[i]}, mixed[i].search).front());
  }
  for (const std::int64_t rows : {1, 7, 20, 1000})
    expect_same(expected, decode_all(model, mixed, DecodingOptions{}, LoopLimits{.maximum_rows = rows}));
  EXPECT_EQ(model.live_slots(), 0U);
}

TEST(DecodingLoop, ManySearchesOneAfterTheOther) {
  TableModel model({.vocabulary = 9});
  auto sentences = random_sentences(100, 5);
  for (std::size_t i = 0; i < sentences.size(); ++i)
    sentences[i].search =
        std::make_shared<const SearchPlan>(DecodingOptions{.strategy = "sampling", .sampling = {.seed = i}});
  const auto together = decode_all(model, sentences, DecodingOptions{});
  for (std::size_t i = 0; i < sentences.size(); i += 7)
    expect_same({together[i]}, decode_all(model, {sentences[i]}, DecodingOptions{}));
}

/// Notes failures and goes on.
class Noted final : public HypothesisSink {
 public:
  void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    results.emplace(id, std::move(hypotheses));
  }
  void fail(std::uint64_t id, std::exception_ptr error) override {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& failure) {
      failures.emplace(id, failure.what());
    }
  }
  std::map<std::uint64_t, std::vector<Hypothesis>> results;
  std::map<std::uint64_t, std::string> failures;
};

TEST(DecodingLoop, AFailureOfOneSentenceIsItsOwn) {
  TableModel model({.vocabulary = 9});
  auto sentences = random_sentences(40, 6);
  const auto expected = decode_all(model, sentences, DecodingOptions{});
  sentences[3].source = {99, 2};
  sentences[11].search = failing_search();
  sentences[12].search = search_with<Runaway>();
  sentences[20].search = search_with<Promising>(StepNeeds{.candidates = 1000}, 1, 1);
  sentences[21].search = search_with<Promising>(StepNeeds{}, 1, 1);  // drops every hypothesis
  DecodingLoop loop(model, DecodingOptions{}, {.maximum_rows = 24});
  Given source(sentences);
  source.stopped_ids = {130};
  Noted sink;
  EXPECT_TRUE(loop.run(source, sink));
  EXPECT_EQ(model.live_slots(), 0U);
  const std::map<std::size_t, std::string> reasons{
      {3, "outside of the vocabulary"},          {11, "bad_alloc"},
      {12, "went on beyond the longest length"}, {20, "wants 1000 candidates"},
      {21, "dropped every hypothesis"},          {30, "interrupted while translating"}};
  EXPECT_EQ(sink.failures.size(), reasons.size());
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (const auto reason = reasons.find(i); reason != reasons.end())
      EXPECT_NE(sink.failures[100 + i].find(reason->second), std::string::npos) << sink.failures[100 + i];
    else
      expect_same({expected[i]}, {sink.results[100 + i]});
  }
}

TEST(DecodingLoop, ASentenceInFlightCanBeStopped) {
  TableModel model({.vocabulary = 9, .end_bias = -std::numeric_limits<double>::infinity()});
  auto sentences = random_sentences(2, 6);
  // The second is long, and is stopped when the first is done.
  sentences[0].source = {3, 2};
  sentences[1].source.assign(60, 3);
  sentences[1].source.push_back(2);
  class Stopping final : public HypothesisSink {
   public:
    explicit Stopping(Given& source) : source_(&source) {}
    void deliver(std::uint64_t id, std::vector<Hypothesis>) override {
      delivered.push_back(id);
      source_->stopped_ids = {101};
    }
    void fail(std::uint64_t id, std::exception_ptr) override { failed.push_back(id); }
    std::vector<std::uint64_t> delivered;
    std::vector<std::uint64_t> failed;

   private:
    Given* source_;
  };
  DecodingLoop loop(model, DecodingOptions{});
  Given source(sentences);
  Stopping sink(source);
  EXPECT_TRUE(loop.run(source, sink));
  EXPECT_EQ(sink.delivered, std::vector<std::uint64_t>{100});
  EXPECT_EQ(sink.failed, std::vector<std::uint64_t>{101});
  EXPECT_LT(loop.statistics().steps, 40U);
  EXPECT_EQ(model.live_slots(), 0U);
}

TEST(DecodingLoop, UnknownStrategiesAreRefused) {
  TableModel model({});
  EXPECT_THROW(decode_all(model, {}, {.strategy = "bean"}), core::Error);
}

}  // namespace
}  // namespace dragoman::decoding
