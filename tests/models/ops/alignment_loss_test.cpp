#include "op_harness.h"

#include <cmath>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/ops/alignment_loss.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/elementwise.h>

namespace dragoman::testing {
namespace {

using Places = std::vector<std::int32_t>;
using ops::AlignmentCost;

/// Sentences and what their queries are linked to.
struct GuidedSetting {
  Places q_offsets;
  Places k_offsets;
  int heads = 1;
  int guided_heads = 1;
  AlignmentCost cost = AlignmentCost::kCrossEntropy;
  Places link_offsets{0};
  Places links{};
  std::int64_t width = 6;

  std::int64_t queries() const { return q_offsets.back(); }
  std::int64_t keys() const { return k_offsets.back(); }
};

/// Up to three links of each query, to different keys; every fourth query has none.
GuidedSetting with_links(GuidedSetting setting) {
  for (std::size_t b = 0; b + 1 < setting.q_offsets.size(); ++b) {
    const std::int32_t keys = setting.k_offsets[b + 1] - setting.k_offsets[b];
    for (std::int32_t i = setting.q_offsets[b]; i < setting.q_offsets[b + 1]; ++i) {
      const std::int32_t count = i % 4 == 3 ? 0 : std::min(keys, 1 + i % 3);
      for (std::int32_t l = 0; l < count; ++l) setting.links.push_back((i * 5 + l) % keys);
      setting.link_offsets.push_back(static_cast<std::int32_t>(setting.links.size()));
    }
  }
  setting.links.push_back(-1);  // what fills a list up is not looked at
  return setting;
}

std::vector<GuidedSetting> guided_settings() {
  std::vector<GuidedSetting> settings;
  for (const AlignmentCost cost :
       {AlignmentCost::kCrossEntropy, AlignmentCost::kMeanSquaredError, AlignmentCost::kMultiplication}) {
    settings.push_back(with_links(
        {.q_offsets = {0, 3, 4, 8}, .k_offsets = {0, 4, 5, 7}, .heads = 2, .guided_heads = 1, .cost = cost}));
    settings.push_back(
        with_links({.q_offsets = {0, 0, 5}, .k_offsets = {0, 3, 9}, .heads = 3, .guided_heads = 3, .cost = cost}));
    settings.push_back(with_links({.q_offsets = {0, 5, 6, 26, 30, 31, 32, 35, 36, 40, 43},
                                   .k_offsets = {0, 33, 35, 85, 86, 190, 195, 200, 201, 205, 209},
                                   .heads = 4,
                                   .guided_heads = 2,
                                   .cost = cost,
                                   .width = 32}));
  }
  return settings;
}

struct GuidedOutcome {
  std::vector<double> losses;
  double sum = 0;
  std::vector<double> gradients{};  ///< of q, k, v, end to end
};

constexpr double kScale = 0.25;

/// With `value_weight`, the sum of the attention's results, so weighted, is a part of the loss, too.
GuidedOutcome outcome_of(Device device, const GuidedSetting& setting, std::span<const double> q,
                         std::span<const double> k, double value_weight, double dropout = 0, int threads = 1) {
  Rig rig(device, threads);
  Context& context = rig.context();
  autograd::training_mode(context).set_training(true);
  autograd::training_mode(context).set_random(5, 6);
  rig.record();
  const std::vector<Variable> operands{
      rig.variable(setting.queries(), setting.width, q, true), rig.variable(setting.keys(), setting.width, k, true),
      rig.variable(setting.keys(), setting.width, random_values(setting.keys() * setting.width, 3), true)};
  const auto q_offsets = context.indices(setting.q_offsets);
  const auto k_offsets = context.indices(setting.k_offsets);
  const ops::AttentionResult result = ops::attention(context, operands[0], operands[1], operands[2], q_offsets,
                                                     k_offsets, {.heads = setting.heads, .dropout = dropout}, true);
  const Tensor losses = context.arena().allocate(1, setting.queries(), tensor::DType::kF64, context.device());
  ops::alignment_loss_rows(context, result.weights, q_offsets, k_offsets, setting.heads,
                           {.link_offsets = context.indices(setting.link_offsets),
                            .links = context.indices(setting.links),
                            .cost = setting.cost,
                            .heads = setting.guided_heads,
                            .gradient_scale = context.upload_copy(kScale)},
                           losses);
  GuidedOutcome outcome{.losses = values_of(losses)};
  outcome.sum = std::accumulate(outcome.losses.begin(), outcome.losses.end(), 0.0);
  if (value_weight != 0) {
    const std::vector<double> seed(static_cast<std::size_t>(setting.queries() * setting.width), value_weight);
    autograd::seed_gradient(context, result.output, rig.matrix(setting.queries(), setting.width, seed));
  }
  rig.tape().backward(context);
  for (const Variable& operand : operands) {
    const std::vector<double> gradient = gradient_of(operand);
    outcome.gradients.insert(outcome.gradients.end(), gradient.begin(), gradient.end());
  }
  return outcome;
}

GuidedOutcome outcome_of(Device device, const GuidedSetting& setting, double value_weight, double dropout = 0,
                         int threads = 1) {
  return outcome_of(device, setting, random_values(setting.queries() * setting.width, 1, -2, 2),
                    random_values(setting.keys() * setting.width, 2, -2, 2), value_weight, dropout, threads);
}

class AlignmentLossTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(AlignmentLoss, AlignmentLossTest, kAllDevices, device_name);

TEST_P(AlignmentLossTest, FollowsTheReference) {
  for (const GuidedSetting& setting : guided_settings())
    for (const double value_weight : {0.0, 0.1})
      for (const double dropout : {0.0, 0.3}) {
        const GuidedOutcome expected = outcome_of(Device::kReference, setting, value_weight, dropout);
        const GuidedOutcome actual = outcome_of(GetParam(), setting, value_weight, dropout);
        const std::string what =
            std::to_string(setting.queries()) + " queries, cost " + std::to_string(static_cast<int>(setting.cost));
        expect_close(actual.losses, expected.losses, 2e-5, what);
        expect_close(actual.gradients, expected.gradients, 5e-5, what);
        EXPECT_NEAR(actual.sum, expected.sum, 1e-3);
      }
}

TEST(AlignmentLoss, HasTheSlopeOfItsLossInTheReference) {
  for (const GuidedSetting& setting : guided_settings()) {
    if (setting.queries() > 10) continue;
    std::vector<double> q = random_values(setting.queries() * setting.width, 1, -2, 2);
    std::vector<double> k = random_values(setting.keys() * setting.width, 2, -2, 2);
    const auto outcome = [&] { return outcome_of(Device::kReference, setting, q, k, 0); };
    const std::vector<double> gradients = outcome().gradients;
    constexpr double kStep = 1e-5;
    std::size_t i = 0;
    for (std::vector<double>* operand : {&q, &k})
      for (double& value : *operand) {
        const double before = value;
        value = before + kStep;
        const double above = outcome().sum;
        value = before - kStep;
        const double below = outcome().sum;
        value = before;
        EXPECT_NEAR(gradients[i++], kScale * (above - below) / (2 * kStep), 1e-7);
      }
  }
}

/// One head of width 1 with scores q * k: with q = log 2 and keys 0, 1, 2 the weights are 1/7, 2/7, 4/7.
TEST_P(AlignmentLossTest, IsThePapersByHand) {
  const auto losses = [&](AlignmentCost cost, const Places& links) {
    const GuidedSetting setting{.q_offsets = {0, 2},
                                .k_offsets = {0, 3},
                                .cost = cost,
                                .link_offsets = {0, 0, static_cast<std::int32_t>(links.size())},
                                .links = links,
                                .width = 1};
    return outcome_of(GetParam(), setting, std::vector<double>{5, std::log(2.0)}, std::vector<double>{0, 1, 2}, 0)
        .losses;
  };
  // The first query has no links.
  expect_close(losses(AlignmentCost::kCrossEntropy, {1}), std::vector<double>{0, std::log(7.0 / 2)}, 1e-6, "one link");
  expect_close(losses(AlignmentCost::kCrossEntropy, {0, 2}),
               std::vector<double>{0, (std::log(7.0) + std::log(7.0 / 4)) / 2}, 1e-6, "two links");
  expect_close(losses(AlignmentCost::kMeanSquaredError, {0, 2}),
               std::vector<double>{0, (25.0 / 196 + 4.0 / 49 + 1.0 / 196) / 2}, 1e-6, "squared error");
  expect_close(losses(AlignmentCost::kMultiplication, {0, 2}), std::vector<double>{0, std::log(14.0 / 5)}, 1e-6,
               "multiplication");
}

/// Heads that attend to different keys: their mean counts, and what a head must change is the same for both.
TEST_P(AlignmentLossTest, IsOfTheMeanOfTheFirstHeads) {
  // Scores of head 0 are those above, those of head 1 are 0, so the means are (1/7 + 1/3) / 2 and so on.
  GuidedSetting setting{.q_offsets = {0, 1},
                        .k_offsets = {0, 3},
                        .heads = 2,
                        .guided_heads = 2,
                        .link_offsets = {0, 1},
                        .links = {2},
                        .width = 2};
  const std::vector<double> q{std::log(2.0), 0}, k{0, 0, 1, 0, 2, 0};
  expect_close(outcome_of(GetParam(), setting, q, k, 0).losses, std::vector<double>{-std::log((4.0 / 7 + 1.0 / 3) / 2)},
               1e-6, "both heads");
  setting.guided_heads = 1;
  const GuidedOutcome first = outcome_of(GetParam(), setting, q, k, 0);
  expect_close(first.losses, std::vector<double>{std::log(7.0 / 4)}, 1e-6, "the first head");
  EXPECT_EQ(first.gradients[1], 0) << "the second head is pulled";
  EXPECT_LT(first.gradients[0], 0);
}

TEST(AlignmentLoss, HasTheSameBitsForAnyThreads) {
  for (const GuidedSetting& setting : guided_settings()) {
    const GuidedOutcome one = outcome_of(Device::kCpu, setting, 0.1);
    for (const int threads : {2, 3}) {
      const GuidedOutcome more = outcome_of(Device::kCpu, setting, 0.1, 0, threads);
      EXPECT_EQ(more.losses, one.losses);
      EXPECT_EQ(more.gradients, one.gradients);
    }
  }
}

/// A sentence's losses do not depend on what else is in the batch.
TEST_P(AlignmentLossTest, OfASentenceIsTheSameInAnyBatch) {
  const GuidedSetting both =
      with_links({.q_offsets = {0, 3, 8}, .k_offsets = {0, 4, 7}, .heads = 2, .guided_heads = 2});
  GuidedSetting second{.q_offsets = {0, 5}, .k_offsets = {0, 3}, .heads = 2, .guided_heads = 2};
  const auto first_link = both.link_offsets[3];
  for (std::size_t i = 4; i < both.link_offsets.size(); ++i)
    second.link_offsets.push_back(both.link_offsets[i] - first_link);
  second.links.assign(both.links.begin() + first_link, both.links.end());
  const std::vector<double> q = random_values(8 * both.width, 1), k = random_values(7 * both.width, 2);
  const auto of_both = outcome_of(GetParam(), both, q, k, 0).losses;
  const auto of_second = outcome_of(GetParam(), second, std::span(q).subspan(3 * 6), std::span(k).subspan(4 * 6), 0);
  EXPECT_EQ(std::vector<double>(of_both.begin() + 3, of_both.end()), of_second.losses);
}

TEST_P(AlignmentLossTest, RefusesLinksThatAreNone) {
  const auto refuses = [&](const Places& link_offsets, const Places& links) {
    const GuidedSetting setting{
        .q_offsets = {0, 2}, .k_offsets = {0, 3}, .link_offsets = link_offsets, .links = links, .width = 1};
    EXPECT_THROW(outcome_of(GetParam(), setting, 0), core::Error);
  };
  refuses({0, 1, 2}, {0, 3});
  refuses({0, 1, 2}, {-1, 0});
  refuses({0, 1, 3}, {0, 0});
  refuses({0, 2, 1}, {0, 0});
  refuses({0, 1}, {0});
}

}  // namespace
}  // namespace dragoman::testing
