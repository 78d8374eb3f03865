#include "dragoman/decoding/score.h"

#include "small_model.h"
#include "table_model.h"

#include <gtest/gtest.h>

namespace dragoman::decoding {
namespace {

using testing::SmallModel;

struct Batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets{0};

  void add(const std::vector<std::int32_t>& sequence) {
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
  }
  tensor::RaggedTokens view() const { return {tokens, offsets}; }
};

const std::vector<std::vector<std::int32_t>> kSources{{5, 2}, {3, 4, 5, 6, 2}, {7, 7, 2}, {12, 2}};
const std::vector<std::vector<std::int32_t>> kTargets{{4, 9, 3}, {}, {8}, {3, 3, 3, 3, 10}};

TEST(Score, IsTheChainRule) {
  SmallModel small;
  Batch sources;
  Batch targets;
  for (const auto& source : kSources) sources.add(source);
  for (const auto& target : kTargets) targets.add(target);
  const auto scores = score(small.model(), small.context(), sources.view(), targets.view(), LengthPenalty::gnmt());
  ASSERT_EQ(scores.size(), kTargets.size());
  for (std::size_t i = 0; i < kTargets.size(); ++i) {
    std::vector<std::int32_t> expected_tokens = kTargets[i];
    expected_tokens.push_back(small.model().spec().end);
    ASSERT_EQ(scores[i].token_log_probabilities.size(), expected_tokens.size());
    std::vector<std::int32_t> before;
    double sum = 0;
    for (std::size_t t = 0; t < expected_tokens.size(); ++t) {
      const auto next = testing::log_softmax(testing::next_logits(small, kSources[i], before));
      sum += next[static_cast<std::size_t>(expected_tokens[t])];
      EXPECT_NEAR(scores[i].token_log_probabilities[t], next[static_cast<std::size_t>(expected_tokens[t])], 1e-9);
      before.push_back(expected_tokens[t]);
    }
    EXPECT_NEAR(scores[i].log_probability, sum, 1e-9);
    EXPECT_DOUBLE_EQ(scores[i].score, LengthPenalty::gnmt().score(scores[i].log_probability,
                                                                  static_cast<std::int64_t>(kTargets[i].size()), true));
  }
}

TEST(Score, DoesNotDependOnHowTheBatchIsCut) {
  SmallModel small;
  Batch sources;
  Batch targets;
  for (int repeat = 0; repeat < 5; ++repeat)
    for (std::size_t i = 0; i < kSources.size(); ++i) {
      sources.add(kSources[i]);
      targets.add(kTargets[i]);
    }
  const auto whole = score(small.model(), small.context(), sources.view(), targets.view(), {}, 1 << 20);
  for (const std::int64_t piece : {1, 9, 30}) {
    const auto cut = score(small.model(), small.context(), sources.view(), targets.view(), {}, piece);
    ASSERT_EQ(cut.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_EQ(cut[i].token_log_probabilities, whole[i].token_log_probabilities);
  }
}

TEST(Score, RefusesWhatItCannotScore) {
  SmallModel small;
  Batch sources;
  sources.add({5, 2});
  const auto attempt = [&](const std::vector<std::vector<std::int32_t>>& sequences) {
    Batch targets;
    for (const auto& sequence : sequences) targets.add(sequence);
    score(small.model(), small.context(), sources.view(), targets.view());
  };
  EXPECT_NO_THROW(attempt({{4}}));
  EXPECT_THROW(attempt({{4}, {5}}), core::Error);
  EXPECT_THROW(attempt({{SmallModel::kVocabulary}}), core::Error);
  EXPECT_THROW(attempt({std::vector<std::int32_t>(40, 3)}), core::Error);
}

}  // namespace
}  // namespace dragoman::decoding
