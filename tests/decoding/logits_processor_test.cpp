#include "dragoman/decoding/logits_processor.h"

#include "table_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace dragoman::decoding {
namespace {

using testing::random_sentences;
using testing::TableModel;

using Tokens = std::vector<std::int32_t>;

/// Every hypothesis of every strategy under these options.
std::vector<Hypothesis> all_hypotheses(TableModel& model, DecodingOptions options) {
  std::vector<Hypothesis> result;
  for (const char* strategy : {"greedy", "beam", "sampling"}) {
    options.strategy = strategy;
    options.n_best = options.strategy == "greedy" ? 1 : 4;
    for (const auto& hypotheses : decode_all(model, random_sentences(15, 5), options))
      result.insert(result.end(), hypotheses.begin(), hypotheses.end());
  }
  return result;
}

bool contains(const Tokens& tokens, const Tokens& sequence) {
  return std::search(tokens.begin(), tokens.end(), sequence.begin(), sequence.end()) != tokens.end();
}

bool repeats_ngram(const Tokens& tokens, std::size_t n) {
  std::set<Tokens> seen;
  for (std::size_t i = 0; i + n <= tokens.size(); ++i)
    if (!seen.insert(Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(i),
                            tokens.begin() + static_cast<std::ptrdiff_t>(i + n)))
             .second)
      return true;
  return false;
}

int count_if_any(const std::vector<Hypothesis>& hypotheses, const auto& property) {
  return static_cast<int>(std::count_if(hypotheses.begin(), hypotheses.end(),
                                        [&](const Hypothesis& hypothesis) { return property(hypothesis.tokens); }));
}

TEST(LogitsProcessor, NoRepeatedNgrams) {
  TableModel model({.vocabulary = 6, .end_bias = -1});
  for (const std::int32_t n : {1, 2, 3}) {
    const auto repeats = [n](const Tokens& tokens) { return repeats_ngram(tokens, static_cast<std::size_t>(n)); };
    EXPECT_GT(count_if_any(all_hypotheses(model, {}), repeats), 10) << "the model repeats itself if it may";
    EXPECT_EQ(count_if_any(all_hypotheses(model, {.no_repeat_ngram = n}), repeats), 0);
  }
}

TEST(LogitsProcessor, SuppressedTokensAndSequencesDoNotOccur) {
  TableModel model({.vocabulary = 6, .end_bias = -1});
  const DecodingOptions options{.suppressed = {{4}, {3, 5}, {5, 5, 1}}};
  const auto free = all_hypotheses(model, {});
  const auto bound = all_hypotheses(model, options);
  for (const auto& sequence : options.suppressed) {
    const auto has = [&](const Tokens& tokens) { return contains(tokens, sequence); };
    EXPECT_GT(count_if_any(free, has), 0);
    EXPECT_EQ(count_if_any(bound, has), 0);
  }
  EXPECT_GT(count_if_any(bound, [](const Tokens& tokens) { return contains(tokens, {5, 5}); }), 0);
}

TEST(LogitsProcessor, UnknownCanBeSuppressed) {
  TableModel model({.vocabulary = 5, .end_bias = -1});
  const auto has = [](const Tokens& tokens) { return contains(tokens, {0}); };
  EXPECT_GT(count_if_any(all_hypotheses(model, {}), has), 0);
  EXPECT_EQ(count_if_any(all_hypotheses(model, {.suppress_unknown = true}), has), 0);
}

TEST(LogitsProcessor, MinimumAndMaximumLengthHold) {
  TableModel model({.vocabulary = 6, .end_bias = 1});
  const auto too_short = [](const Tokens& tokens) { return tokens.size() < 4; };
  const auto too_long = [](const Tokens& tokens) { return tokens.size() > 6; };
  EXPECT_GT(count_if_any(all_hypotheses(model, {}), too_short), 0);
  const auto bound = all_hypotheses(model, {.minimum_length = 4, .maximum_length = 6});
  EXPECT_EQ(count_if_any(bound, too_short), 0);
  EXPECT_EQ(count_if_any(bound, too_long), 0);
  for (const Hypothesis& hypothesis : bound)
    EXPECT_TRUE(hypothesis.stopped_by == StoppedBy::kEnd || hypothesis.tokens.size() == 6);
}

TEST(LogitsProcessor, LengthsMayFollowFromTheSources) {
  TableModel model({.vocabulary = 6, .end_bias = 1});
  const auto sentences = random_sentences(40, 5);
  for (const char* strategy : {"greedy", "beam", "sampling"}) {
    const DecodingOptions options{.strategy = strategy,
                                  .minimum_length = 2,
                                  .minimum_length_factor = 1.5,
                                  .maximum_length_factor = 2,
                                  .maximum_length_offset = 1};
    const auto found = decode_all(model, sentences, options);
    int at_minimum = 0;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const auto source = static_cast<double>(sentences[i].source.size() - 1);
      const auto length = static_cast<double>(found[i][0].tokens.size());
      EXPECT_GE(length, std::max(2.0, std::floor(1.5 * source))) << strategy;
      EXPECT_LE(length, 2 * source + 1) << strategy;
      at_minimum += length == std::max(2.0, std::floor(1.5 * source)) ? 1 : 0;
    }
    EXPECT_GT(at_minimum, 5) << "the limit is met, and not by much";
  }
  // More than is allowed: the longest that is.
  const auto longest = decode_all(model, sentences, {.minimum_length_factor = 1000, .maximum_length = 3});
  for (const auto& hypotheses : longest) EXPECT_EQ(hypotheses[0].tokens.size(), 3U);
}

TEST(LogitsProcessor, RepetitionPenaltyChangesLogitsAsPublished) {
  // Keskar et al. 2019, sec. 4.1: the logit of a token that has occurred is divided by the penalty; negative ones are
  // multiplied, as all implementations do, so that the penalty never favours.
  constexpr double kPenalty = 1.5;
  TableModel model({.vocabulary = 6, .end_bias = -1});
  const auto sentences = random_sentences(20, 5);
  const auto found = decode_all(model, sentences, {.strategy = "greedy", .repetition_penalty = kPenalty});
  int changed = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    Tokens before;
    for (const std::int32_t token : found[i][0].tokens) {
      const auto free = model.logits(sentences[i].source, before);
      auto logits = free;
      for (const std::int32_t seen : std::set<std::int32_t>(before.begin(), before.end())) {
        double& logit = logits[static_cast<std::size_t>(seen)];
        logit = logit > 0 ? logit / kPenalty : logit * kPenalty;
      }
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      EXPECT_EQ(token, best);
      EXPECT_NEAR(found[i][0].token_log_probabilities[before.size()],
                  testing::log_softmax(logits)[static_cast<std::size_t>(best)], 1e-6);
      changed += best != std::max_element(free.begin(), free.end()) - free.begin() ? 1 : 0;
      before.push_back(token);
    }
  }
  EXPECT_GT(changed, 10);
}

TEST(LogitsProcessor, RepetitionPenaltyEditsEachSeenTokenOnce) {
  const nn::SequenceSpec spec{.source_vocabulary = 9, .target_vocabulary = 9};
  const DecodingOptions options{.repetition_penalty = 1.25};
  const LogitsProcessors processors = make_processors(options, spec);
  ASSERT_EQ(processors.size(), 1U);
  RowEdits row;
  SentenceState state;
  processors[0]->apply(state, LiveHypothesis{.tokens = {5, 3, 5, 5}}, row);
  std::vector<ops::LogitEdit> edits;
  row.move_to(7, edits);
  ASSERT_EQ(edits.size(), 2U);
  EXPECT_EQ(edits[0].token, 3);
  EXPECT_EQ(edits[1].token, 5);
  for (const ops::LogitEdit& edit : edits) {
    EXPECT_EQ(edit.row, 7);
    EXPECT_EQ(edit.penalty, 1.25F);
    EXPECT_EQ(edit.bias, 0);
  }
}

TEST(RowEdits, AreSortedAndJoined) {
  RowEdits row;
  row.add(4, 0.5F);
  row.penalise(2, 2);
  row.penalise(4, 3);
  row.add(4, 0.25F);
  row.suppress(2);
  std::vector<ops::LogitEdit> edits;
  row.move_to(0, edits);
  row.add(9, 1);
  row.move_to(1, edits);
  ASSERT_EQ(edits.size(), 3U);
  EXPECT_EQ(edits[0].token, 2);
  EXPECT_EQ(edits[0].penalty, 2);
  EXPECT_EQ(edits[0].bias, ops::LogitEdit::kSuppress);
  EXPECT_EQ(edits[1].token, 4);
  EXPECT_EQ(edits[1].penalty, 3);
  EXPECT_EQ(edits[1].bias, 0.75F);
  EXPECT_EQ(edits[2].row, 1);
  EXPECT_EQ(edits[2].token, 9);
}

/// Wants every other token to be 3.
class EveryOther final : public LogitsProcessor {
 public:
  void apply(const SentenceState&, const LiveHypothesis& hypothesis, RowEdits& edits) override {
    if (hypothesis.tokens.size() % 2 == 0) edits.add(3, 100);
  }
};

TEST(LogitsProcessor, FurtherOnesMayBeAdded) {
  TableModel model({.vocabulary = 6, .end_bias = -1});
  const auto search = std::make_shared<const SearchPlan>(
      DecodingOptions{.strategy = "greedy"}, [] { return make_strategy({.strategy = "greedy"}); },
      [](const nn::SequenceSpec&) {
        LogitsProcessors further;
        further.push_back(std::make_unique<EveryOther>());
        return further;
      });
  const auto found = decode_all(model, random_sentences(5, 4), search);
  for (const auto& hypotheses : found) {
    ASSERT_FALSE(hypotheses[0].tokens.empty());
    for (std::size_t t = 0; t < hypotheses[0].tokens.size(); t += 2) EXPECT_EQ(hypotheses[0].tokens[t], 3);
  }
}

TEST(LogitsProcessor, AHypothesisThatNothingMayFollowIsCut) {
  TableModel model({.vocabulary = 5});
  const DecodingOptions options{.minimum_length = 3, .suppressed = {{0}, {1}, {3}, {4}}};
  for (const char* strategy : {"greedy", "beam", "sampling"}) {
    DecodingOptions with = options;
    with.strategy = strategy;
    const auto found = decode_all(model, random_sentences(3, 3), with);
    for (const auto& hypotheses : found) {
      ASSERT_EQ(hypotheses.size(), 1U);
      EXPECT_TRUE(hypotheses[0].tokens.empty());
      EXPECT_EQ(hypotheses[0].stopped_by, StoppedBy::kLength);
    }
  }
}

}  // namespace
}  // namespace dragoman::decoding
