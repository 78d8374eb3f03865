#include "dragoman/pipeline/compute_comparison.h"

#include "error_message.h"
#include "tiny_model.h"

#include <cmath>

#include <gmock/gmock.h>

namespace dragoman::pipeline {
namespace {

using decoding::LayerError;
using dragoman::testing::message_of;
using dragoman::testing::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;

float& element_of(nn::ParameterStore& parameters, const std::string& name, std::int64_t row, std::int64_t column) {
  for (nn::Parameter& parameter : parameters.all())
    if (parameter.name == name) return parameter.value.row<float>(row)[column];
  throw std::runtime_error("no parameter " + name);
}

/// A hidden unit of the decoder's second layer never fires, and its outgoing weights, which therefore mean nothing,
/// are `outlier`: what other weights are left when a row is rounded to 8 bits?
void plant(nn::ParameterStore& parameters, float outlier) {
  const std::string layer = "decoder.layers.1.feed_forward.";
  constexpr int kModelWidth = 16;
  element_of(parameters, layer + "in.bias", 0, 0) = -1000;
  for (std::int64_t row = 0; row < kModelWidth; ++row) element_of(parameters, layer + "out.weight", row, 0) = outlier;
}

std::vector<LinePair> some_pairs() {
  return {{"the cat sat on the mat", "ein Hund und eine Katze", "a"}, {"the dog", "ein Hund", "b"}, {"", "Katze", "c"}};
}

class ComputeComparerTest : public ::testing::Test {
 protected:
  ComputeComparison compare(const TinyModel& model, const ComputeComparisonOptions& options = {}) {
    ComputeComparer comparer(model.path(), host_, options);
    comparer.read(some_pairs());
    return comparer.result();
  }

  plugins::Host host_;
};

TEST_F(ComputeComparerTest, FloatsAreNearDoublesAndFewerBitsAreFurtherAway) {
  const ComputeComparison comparison = compare(TinyModel(), {.against_double = true});
  EXPECT_EQ(comparison.reference, "fp64");
  EXPECT_EQ(comparison.sentences, 3U);
  ASSERT_EQ(comparison.types.size(), 3U);
  EXPECT_EQ(comparison.types[0].type, "fp32");
  EXPECT_EQ(comparison.types[1].type, "bf16");
  EXPECT_THAT(comparison.types[2].type, HasSubstr("int8"));
  const auto error = [&](std::size_t type, std::size_t layer) {
    return comparison.types[type].comparison.layers[layer].error.relative;
  };
  const std::size_t layers = comparison.types[0].comparison.layers.size();
  ASSERT_EQ(layers, 7U);  // embeddings, layer, output; embeddings, two layers, output
  for (std::size_t i = 0; i < layers; ++i) {
    EXPECT_LT(error(0, i), 2e-6);
    const bool has_products = comparison.types[0].comparison.layers[i].layer != 0;
    EXPECT_EQ(error(1, i) > 1e-4 && error(2, i) > 1e-4, has_products) << i;
    EXPECT_LT(error(1, i), 0.02);
    EXPECT_LT(error(2, i), 0.05);
  }
  const auto kl = [&](std::size_t type) { return comparison.types[type].comparison.predictions.kl_divergence; };
  EXPECT_LT(std::abs(kl(0)), 1e-7);  // log probabilities are floats
  EXPECT_GT(kl(1), 1e-7);
  EXPECT_GT(kl(2), 1e-7);
}

TEST_F(ComputeComparerTest, AnOutlierShowsInItsLayer) {
  const TinyModel clean([](nn::ParameterStore& parameters) { plant(parameters, 0); });
  const TinyModel planted([](nn::ParameterStore& parameters) { plant(parameters, 100); });
  const ComputeComparison expected = compare(clean);
  const ComputeComparison found = compare(planted);
  constexpr std::size_t kInt8 = 1;
  constexpr std::size_t kPlanted = 5;  // behind three of the encoder, the embeddings and the first layer
  const auto& clean_layers = expected.types[kInt8].comparison.layers;
  const auto& layers = found.types[kInt8].comparison.layers;
  ASSERT_EQ(layers[kPlanted].layer, 2);
  ASSERT_TRUE(layers[kPlanted].of_decoder);
  for (std::size_t i = 0; i < kPlanted; ++i) EXPECT_EQ(layers[i].error.relative, clean_layers[i].error.relative);
  EXPECT_GT(layers[kPlanted].error.relative, 5 * clean_layers[kPlanted].error.relative);
  EXPECT_GT(layers[kPlanted].error.relative, 5 * layers[kPlanted - 1].error.relative);
  // bf16 rounds each weight by itself.
  EXPECT_NEAR(found.types[0].comparison.layers[kPlanted].error.relative,
              expected.types[0].comparison.layers[kPlanted].error.relative, 1e-6);
  // The reference does not feel it.
  EXPECT_NEAR(found.types[kInt8].comparison.predictions.reference_cross_entropy,
              expected.types[kInt8].comparison.predictions.reference_cross_entropy, 1e-6);
}

TEST_F(ComputeComparerTest, RandomPairsAndThreadsGiveTheSameBytes) {
  const TinyModel model;
  const auto of_random = [&](int threads) {
    ComputeComparer comparer(model.path(), host_, {.threads = threads});
    comparer.read_random(12);
    return comparer.result();
  };
  const ComputeComparison one = of_random(1);
  const ComputeComparison three = of_random(3);
  EXPECT_EQ(one.sentences, 12U);
  EXPECT_GE(one.source_tokens, 12 * 6);
  for (std::size_t i = 0; i < one.types.size(); ++i) {
    const auto& expected = one.types[i].comparison;
    const auto& found = three.types[i].comparison;
    EXPECT_EQ(found.predictions.kl_divergence, expected.predictions.kl_divergence);
    for (std::size_t l = 0; l < expected.layers.size(); ++l)
      EXPECT_EQ(found.layers[l].error.relative, expected.layers[l].error.relative);
  }
}

TEST_F(ComputeComparerTest, SaysWhichPairIsTooLong) {
  const TinyModel model;
  ComputeComparer comparer(model.path(), host_, {.types = {tensor::ComputeChoice::kBF16}});
  std::string text;
  for (int i = 0; i < 40; ++i) text += "cat ";
  EXPECT_THAT(message_of([&] {
                comparer.read({{text, "x", "t: line 7"}});
              }),
              AllOf(HasSubstr("t: line 7"), HasSubstr("source")));
  EXPECT_EQ(comparer.result().sentences, 0U);
}

}  // namespace
}  // namespace dragoman::pipeline
