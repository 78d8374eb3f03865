#include "dragoman/decoding/decoding_loop.h"

#include "table_model.h"

#include <algorithm>
#include <limits>

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

 private:
  std::vector<Sentence> sentences_;
  int stall_every_;
  int calls_ = 0;
  std::size_t position_ = 0;
};

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
  decode_all(model, sentences, {}, LoopLimits{.maximum_rows = 40});
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
  DecodingLoop loop(model, {}, {.maximum_rows = 24});
  Given source(sentences, 2);
  Collected sink;
  EXPECT_TRUE(loop.run(source, sink));
  const auto expected = decode_all(model, sentences, {});
  ASSERT_EQ(sink.ids.size(), sentences.size());
  std::vector<std::vector<Hypothesis>> sorted(sentences.size());
  for (std::size_t i = 0; i < sink.ids.size(); ++i) sorted[sink.ids[i] - 100] = sink.results[i];
  expect_same(expected, sorted);
}

TEST(DecodingLoop, StopsWhenAskedAndCanRunAgain) {
  TableModel model({.vocabulary = 12});
  const auto sentences = random_sentences(40, 6);
  DecodingLoop loop(model, {}, {.maximum_rows = 16});
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
  DecodingLoop loop(model, {}, {.maximum_rows = 16});
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
  const auto found = decode_all(model, {{.source = {TableModel::kEnd}}}, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].empty());
  EXPECT_LE(found[0][0].tokens.size(), 10U);
}

TEST(DecodingLoop, NoSentencesNoResults) {
  TableModel model({});
  EXPECT_TRUE(decode_all(model, {}, {}).empty());
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
  const auto found = decode_all(model, {{.source = {3, 2}, .target_prefix = std::vector<std::int32_t>(30, 4)}}, {});
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
      decode_all(model, {{.source = {3, 2}}, sentence}, {});
      ADD_FAILURE() << "accepted";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("sentence 1"), std::string::npos) << error.what();
    }
    EXPECT_EQ(model.live_slots(), 0U);
  }
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
  const auto found = decode_all(model, sentences, {}, std::make_unique<Alternating>(), {});
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
  EXPECT_THROW(decode_all(model, random_sentences(2, 3), {}, std::make_unique<Runaway>(), {}), core::Error);
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
    EXPECT_THROW(DecodingLoop(model, {}, std::make_unique<Promising>(needs, starts, live), {}), core::Error);
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

TEST(DecodingLoop, WhateverFailsLeavesNoSentenceInTheModel) {
  TableModel model({});
  LogitsProcessors processors;
  processors.push_back(std::make_unique<Failing>());
  DecodingLoop loop(model, {}, make_strategy({}), std::move(processors));
  Given source(random_sentences(5, 3));
  Collected sink;
  EXPECT_THROW(loop.run(source, sink), std::bad_alloc);
  EXPECT_EQ(model.live_slots(), 0U);
}

TEST(DecodingLoop, UnknownStrategiesAreRefused) {
  TableModel model({});
  EXPECT_THROW(decode_all(model, {}, {.strategy = "bean"}), core::Error);
}

}  // namespace
}  // namespace dragoman::decoding
