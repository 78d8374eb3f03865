#include "dragoman/decoding/model_comparison.h"

#include "error_message.h"
#include "small_model.h"
#include "table_model.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include <dragoman/decoding/inner_states.h>

namespace dragoman::decoding {
namespace {

using dragoman::testing::message_of;
using ::testing::HasSubstr;
using testing::log_softmax;
using testing::SmallModel;

const std::vector<std::vector<std::int32_t>> kReadSources{{5, 2}, {3, 4, 5, 6, 2}, {7, 7, 2}, {12, 2}};
const std::vector<std::vector<std::int32_t>> kReadTargets{{4, 9, 3}, {}, {8}, {3, 3, 3, 3, 10}};

struct ReadBatch {
  explicit ReadBatch(const std::vector<std::vector<std::int32_t>>& sequences) {
    for (const auto& sequence : sequences) {
      tokens.insert(tokens.end(), sequence.begin(), sequence.end());
      offsets.push_back(static_cast<std::int32_t>(tokens.size()));
    }
  }
  tensor::RaggedTokens view() const { return {tokens, offsets}; }
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets{0};
};

ModelComparison compare(SmallModel& reference, SmallModel& other, std::int64_t piece_tokens = 512) {
  ModelComparator comparator({&reference.model(), &reference.context()}, {{&other.model(), &other.context()}});
  comparator.read(ReadBatch(kReadSources).view(), ReadBatch(kReadTargets).view(), piece_tokens);
  return comparator.result().front();
}

/// By the other way in which states come out of a model.
std::vector<double> states_of(SmallModel& small, const LayerError& layer, std::int64_t& width) {
  StatesRequest request{.of_decoder = layer.of_decoder, .final_states = layer.layer == LayerError::kFinal};
  if (!request.final_states) request.layers = {layer.layer};
  std::vector<double> all;
  for (const InnerStates& inner : inner_states(small.model(), small.context(), ReadBatch(kReadSources).view(),
                                               ReadBatch(kReadTargets).view(), {.states = request})) {
    all.insert(all.end(), inner.states.values.begin(), inner.states.values.end());
    width = inner.states.width;
  }
  return all;
}

TEST(ModelComparator, AModelIsItself) {
  SmallModel one(3);
  SmallModel same(3);
  const ModelComparison comparison = compare(one, same);
  ASSERT_EQ(comparison.layers.size(), 2U);  // it shows the outputs of both sides
  for (const LayerError& layer : comparison.layers) {
    EXPECT_EQ(layer.error.relative, 0);
    EXPECT_EQ(layer.error.largest, 0);
    EXPECT_NEAR(layer.error.cosine, 1, 1e-12);
  }
  EXPECT_EQ(comparison.predictions.kl_divergence, 0);
  EXPECT_EQ(comparison.predictions.changed_best, 0);
  EXPECT_EQ(comparison.predictions.cross_entropy, comparison.predictions.reference_cross_entropy);
}

TEST(ModelComparator, ErrorsOfLayersAreThoseOfTheDefinition) {
  SmallModel reference(1);
  SmallModel other(5);
  for (const LayerError& layer : compare(reference, other).layers) {
    std::int64_t width = 0;
    const auto expected = states_of(reference, layer, width);
    const auto found = states_of(other, layer, width);
    ASSERT_EQ(found.size(), expected.size());
    double difference = 0, size = 0, largest = 0, cosines = 0;
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t begin = 0; begin < found.size(); begin += columns) {
      double a = 0, b = 0, product = 0;
      for (std::size_t i = begin; i < begin + columns; ++i) {
        difference += (found[i] - expected[i]) * (found[i] - expected[i]);
        largest = std::max(largest, std::abs(found[i] - expected[i]));
        a += found[i] * found[i], b += expected[i] * expected[i], product += found[i] * expected[i];
      }
      size += b;
      cosines += product / std::sqrt(a) / std::sqrt(b);
    }
    EXPECT_NEAR(layer.error.relative, std::sqrt(difference / size), 1e-5);
    EXPECT_NEAR(layer.error.largest, largest / std::sqrt(size / static_cast<double>(found.size())), 1e-5);
    EXPECT_NEAR(layer.error.cosine, cosines * static_cast<double>(columns) / static_cast<double>(found.size()), 1e-5);
    EXPECT_GT(layer.error.relative, 0.1);  // they are different models
  }
}

TEST(ModelComparator, ErrorsOfPredictionsAreThoseOfFullPasses) {
  SmallModel reference(1);
  SmallModel other(5);
  double kl = 0, most = 0, changed = 0, entropy = 0, reference_entropy = 0, tokens = 0;
  for (std::size_t b = 0; b < kReadSources.size(); ++b) {
    std::vector<std::int32_t> labels = kReadTargets[b];
    labels.push_back(reference.model().spec().end);
    for (std::size_t t = 0; t < labels.size(); ++t) {
      const std::vector<std::int32_t> before(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(t));
      const auto p = log_softmax(testing::next_logits(reference, kReadSources[b], before));
      const auto q = log_softmax(testing::next_logits(other, kReadSources[b], before));
      double own = 0;
      for (std::size_t v = 0; v < p.size(); ++v) own += std::exp(p[v]) * (p[v] - q[v]);
      kl += own;
      most = std::max(most, own);
      changed += std::ranges::max_element(p) - p.begin() != std::ranges::max_element(q) - q.begin();
      entropy -= q[static_cast<std::size_t>(labels[t])];
      reference_entropy -= p[static_cast<std::size_t>(labels[t])];
      ++tokens;
    }
  }
  const PredictionError found = compare(reference, other).predictions;
  EXPECT_NEAR(found.kl_divergence, kl / tokens, 1e-9);
  EXPECT_NEAR(found.largest_kl_divergence, most, 1e-9);
  EXPECT_DOUBLE_EQ(found.changed_best, changed / tokens);
  EXPECT_NEAR(found.cross_entropy, entropy / tokens, 1e-9);
  EXPECT_NEAR(found.reference_cross_entropy, reference_entropy / tokens, 1e-9);
}

TEST(ModelComparator, HowTheTextIsCutDoesNotMatter) {
  SmallModel reference(1);
  SmallModel other(5);
  const ModelComparison whole = compare(reference, other);
  const ModelComparison cut = compare(reference, other, 1);
  ModelComparator in_parts({&reference.model(), &reference.context()}, {{&other.model(), &other.context()}});
  for (std::size_t b = 0; b < kReadSources.size(); ++b)
    in_parts.read(ReadBatch(std::vector(1, kReadSources[b])).view(), ReadBatch(std::vector(1, kReadTargets[b])).view());
  EXPECT_EQ(in_parts.source_tokens(), 12);
  EXPECT_EQ(in_parts.target_tokens(), 13);
  for (const ModelComparison& one : {cut, in_parts.result().front()}) {
    EXPECT_NEAR(one.predictions.kl_divergence, whole.predictions.kl_divergence, 1e-12);
    for (std::size_t i = 0; i < whole.layers.size(); ++i)
      EXPECT_NEAR(one.layers[i].error.relative, whole.layers[i].error.relative, 1e-12);
  }
}

TEST(ModelComparator, SaysWhatDoesNotGoTogether) {
  SmallModel first(1);
  SmallModel other(1, 3);
  EXPECT_THAT(message_of(
                  [&] {
                    ModelComparator({&first.model(), &first.context()}, {{&other.model(), &other.context()}});
                  },
                  core::ErrorCode::kInvalidArgument),
              HasSubstr("first token is 3 in model 2"));
  ModelComparator comparator({&first.model(), &first.context()}, {});
  const std::vector<std::vector<std::int32_t>> one = {{4}};
  EXPECT_THAT(message_of([&] { comparator.read(ReadBatch(kReadSources).view(), ReadBatch(one).view()); },
                         core::ErrorCode::kInvalidArgument),
              HasSubstr("4 sources but 1 targets"));
}

}  // namespace
}  // namespace dragoman::decoding
