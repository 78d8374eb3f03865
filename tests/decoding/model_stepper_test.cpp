#include "small_model.h"
#include "table_model.h"

#include <gtest/gtest.h>

#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>

namespace dragoman::decoding {
namespace {

using testing::expect_full_pass;
using testing::small_sentences;
using testing::SmallModel;

TEST(ModelStepper, CachedStepsEqualTheFullPass) {
  SmallModel small;
  const auto sentences = small_sentences(12, 7);
  for (const char* strategy : {"greedy", "beam", "sampling"}) {
    ModelStepper stepper(small.model(), small.context());
    const auto found = decode_all(stepper, sentences, {.strategy = strategy, .n_best = strategy[0] == 'g' ? 1 : 4});
    for (std::size_t i = 0; i < sentences.size(); ++i)
      for (const Hypothesis& hypothesis : found[i]) expect_full_pass(small, sentences[i], hypothesis);
  }
}

/// Passes everything on and notes how often hypotheses changed places.
class Watched final : public StepModel {
 public:
  explicit Watched(StepModel& model) : model_(&model) {}
  const nn::SequenceSpec& spec() const override { return model_->spec(); }
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override {
    model_->admit(sources, slots);
  }
  void release(std::int32_t slot) override { model_->release(slot); }
  void step(const StepRequest& request, StepResult& result) override {
    for (std::size_t r = 1; r < request.rows.size(); ++r) {
      if (request.rows[r].slot != request.rows[r - 1].slot || request.rows[r].parent < 0) continue;
      swapped += request.rows[r].parent < request.rows[r - 1].parent ? 1 : 0;
      shared += request.rows[r].parent == request.rows[r - 1].parent ? 1 : 0;
    }
    model_->step(request, result);
  }
  int swapped = 0;
  int shared = 0;

 private:
  StepModel* model_;
};

TEST(ModelStepper, BeamsCrossOverAndStillReadTheirOwnHistory) {
  SmallModel small(5);
  ModelStepper stepper(small.model(), small.context());
  Watched watched(stepper);
  const auto sentences = small_sentences(6, 7);
  const auto found = decode_all(watched, sentences, {.beam_size = 8, .n_best = 8, .patience = 3});
  EXPECT_GT(watched.swapped, 50);
  EXPECT_GT(watched.shared, 50);
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (const Hypothesis& hypothesis : found[i]) expect_full_pass(small, sentences[i], hypothesis);
}

TEST(ModelStepper, ScoringWhatWasDecodedGivesTheSameNumbers) {
  SmallModel small;
  const auto sentences = small_sentences(10, 7);
  ModelStepper stepper(small.model(), small.context());
  const DecodingOptions options;
  const auto found = decode_all(stepper, sentences, options);
  std::vector<std::int32_t> sources;
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> source_offsets{0};
  std::vector<std::int32_t> target_offsets{0};
  std::vector<const Hypothesis*> ended;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (found[i][0].stopped_by != StoppedBy::kEnd) continue;
    ended.push_back(&found[i][0]);
    sources.insert(sources.end(), sentences[i].source.begin(), sentences[i].source.end());
    targets.insert(targets.end(), found[i][0].tokens.begin(), found[i][0].tokens.end());
    source_offsets.push_back(static_cast<std::int32_t>(sources.size()));
    target_offsets.push_back(static_cast<std::int32_t>(targets.size()));
  }
  ASSERT_GT(ended.size(), 5U);
  const auto scores = score(small.model(), small.context(), {sources, source_offsets}, {targets, target_offsets});
  ASSERT_EQ(scores.size(), ended.size());
  for (std::size_t i = 0; i < ended.size(); ++i) {
    EXPECT_NEAR(scores[i].score, ended[i]->score, 1e-9);
    EXPECT_NEAR(scores[i].log_probability, ended[i]->log_probability, 1e-9);
    ASSERT_EQ(scores[i].token_log_probabilities.size(), ended[i]->token_log_probabilities.size());
    for (std::size_t t = 0; t < scores[i].token_log_probabilities.size(); ++t)
      EXPECT_NEAR(scores[i].token_log_probabilities[t], ended[i]->token_log_probabilities[t], 1e-9);
  }
}

TEST(ModelStepper, ResultsDoNotDependOnWhatElseIsInFlight) {
  SmallModel small;
  const auto sentences = small_sentences(20, 9);
  const DecodingOptions options{.beam_size = 3, .n_best = 2, .want_alignment = true};
  ModelStepper stepper(small.model(), small.context());
  const auto alone = decode_all(stepper, sentences, options, LoopLimits{.maximum_rows = 1});
  for (const std::int64_t rows : {6, 15, 1000})
    testing::expect_same(alone, decode_all(stepper, sentences, options, LoopLimits{.maximum_rows = rows}));
  testing::expect_same(alone, decode_all(stepper, sentences, options, LoopLimits{.maximum_state_bytes = 4000}));
}

TEST(ModelStepper, ReleasedSlotsAndTheirMemoryAreUsedAgain) {
  SmallModel small;
  ModelStepper stepper(small.model(), small.context());
  const auto sentences = small_sentences(30, 7);
  const auto first = decode_all(stepper, sentences, DecodingOptions{}, LoopLimits{.maximum_rows = 8});
  EXPECT_EQ(stepper.bytes_in_use(), 0U);
  testing::expect_same(first, decode_all(stepper, sentences, DecodingOptions{}, LoopLimits{.maximum_rows = 8}));
}

TEST(ModelStepper, AForcedPrefixEqualsTheSameStepsOneByOne) {
  SmallModel small;
  ModelStepper stepper(small.model(), small.context());
  auto sentences = small_sentences(9, 7);
  const DecodingOptions options{.strategy = "greedy", .want_alignment = true};
  const auto free = decode_all(stepper, sentences, options);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto& tokens = free[i][0].tokens;
    sentences[i].target_prefix.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() / 2));
  }
  const auto forced = decode_all(stepper, sentences, options);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(forced[i][0].tokens, free[i][0].tokens);
    EXPECT_NEAR(forced[i][0].score, free[i][0].score, 1e-9);
    ASSERT_EQ(forced[i][0].alignment.size(), free[i][0].alignment.size());
    for (std::size_t t = 0; t < free[i][0].alignment.size(); ++t)
      for (std::size_t j = 0; j < free[i][0].alignment[t].size(); ++j)
        EXPECT_NEAR(forced[i][0].alignment[t][j], free[i][0].alignment[t][j], 1e-6);
  }
}

TEST(ModelStepper, AlignmentIsADistributionOverTheSourcePerToken) {
  SmallModel small;
  ModelStepper stepper(small.model(), small.context());
  const auto sentences = small_sentences(5, 6);
  const auto found = decode_all(stepper, sentences, {.n_best = 3, .want_alignment = true});
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (const Hypothesis& hypothesis : found[i]) {
      ASSERT_EQ(hypothesis.alignment.size(), hypothesis.token_log_probabilities.size());
      for (const auto& row : hypothesis.alignment) {
        ASSERT_EQ(row.size(), sentences[i].source.size());
        double sum = 0;
        for (const float weight : row) sum += static_cast<double>(weight);
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    }
}

TEST(ModelStepper, AModelNearItsLengthLimitIsCutThere) {
  SmallModel small;
  ModelStepper stepper(small.model(), small.context());
  // Never allowed to end before the limit: 40 decoder inputs are the start and 39 tokens.
  const auto found = decode_all(stepper, small_sentences(2, 30), {.minimum_length = 100, .maximum_length = 500});
  for (const auto& hypotheses : found) EXPECT_EQ(hypotheses[0].tokens.size(), 39U);
}

}  // namespace
}  // namespace dragoman::decoding
