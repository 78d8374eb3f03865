#include "small_model.h"
#include "table_model.h"
#include "test_names.h"

#include <gtest/gtest.h>

#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>

namespace dragoman::decoding {
namespace {

using testing::SmallModel;
using testing::TableModel;

/// The decoder's first input is what the model says: `begin`, `end` as in fairseq and Marian, or any other token.
class DecoderStartTest : public ::testing::TestWithParam<std::int32_t> {};

TEST_P(DecoderStartTest, CachedStepsEqualTheFullPass) {
  SmallModel small(1, GetParam());
  ModelStepper stepper(small.model(), small.context());
  auto sentences = testing::small_sentences(8, 7);
  for (std::size_t i = 0; i < sentences.size(); i += 2) sentences[i].target_prefix = {4, 9};
  for (const char* strategy : {"greedy", "beam", "sampling"}) {
    const auto found = decode_all(stepper, sentences, {.strategy = strategy});
    for (std::size_t i = 0; i < sentences.size(); ++i) testing::expect_full_pass(small, sentences[i], found[i][0]);
  }
}

TEST_P(DecoderStartTest, ScoreIsTheChainRuleFromThere) {
  SmallModel small(1, GetParam());
  const std::vector<std::int32_t> source{3, 4, 5, 2};
  const std::vector<std::int32_t> target{4, 9, 3, 3};
  const std::vector<std::int32_t> source_offsets{0, 4};
  const std::vector<std::int32_t> target_offsets{0, 4};
  const auto scores = score(small.model(), small.context(), {source, source_offsets}, {target, target_offsets});
  std::vector<std::int32_t> before;
  for (std::size_t t = 0; t <= target.size(); ++t) {
    const std::int32_t token = t < target.size() ? target[t] : small.model().spec().end;
    const auto next = testing::log_softmax(testing::next_logits(small, source, before));
    EXPECT_NEAR(scores[0].token_log_probabilities.at(t), next[static_cast<std::size_t>(token)], 1e-9);
    before.push_back(token);
  }
}

/// Two models that differ in nothing but the first input: the table's distributions are those of the tokens behind it,
/// so nothing that a search does may differ, neither which n-grams repeat nor where a translation ends.
TEST_P(DecoderStartTest, IsNoPartOfTheTranslation) {
  TableModel begins_with_begin({.vocabulary = 7});
  TableModel model({.vocabulary = 7, .decoder_start = GetParam()});
  auto sentences = testing::random_sentences(20, 5);
  for (std::size_t i = 0; i < sentences.size(); ++i) sentences[i].target_prefix.assign(i % 3, 5);
  for (const char* strategy : {"greedy", "beam", "sampling"})
    for (const int ngram : {0, 1, 2}) {
      DecodingOptions options{.strategy = strategy, .repetition_penalty = 1.3, .no_repeat_ngram = ngram};
      testing::expect_same(decode_all(model, sentences, options), decode_all(begins_with_begin, sentences, options));
    }
}

INSTANTIATE_TEST_SUITE_P(Tokens, DecoderStartTest, ::testing::Values(1, 2, 5), dragoman::testing::kParameterName);

/// The first input matters to a real model: a search that began with another would be found out above.
TEST(DecoderStart, ChangesWhatARealModelPredicts) {
  SmallModel begin(1, 1);
  SmallModel end(1, 2);
  EXPECT_NE(testing::next_logits(begin, {3, 4, 2}, {}), testing::next_logits(end, {3, 4, 2}, {}));
  EXPECT_NE(testing::next_logits(begin, {3, 4, 2}, {5}), testing::next_logits(end, {3, 4, 2}, {5}));
}

}  // namespace
}  // namespace dragoman::decoding
