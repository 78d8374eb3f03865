#include "op_harness.h"

#include <cmath>
#include <numeric>

#include <dragoman/core/random.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>

namespace dragoman::testing {
namespace {

/// Ragged sequences, and attention over them by the formula with the mask that ops/attention.h and ops/dropout.h
/// describe.
struct DroppingAttention {
  static constexpr std::uint64_t kDropSeed = 0xFEDCBA9876543210;
  static constexpr std::uint64_t kDropStep = 41;
  static constexpr double kDropRate = 0.25;

  std::vector<std::int32_t> q_offsets;
  std::vector<std::int32_t> k_offsets;
  int heads;
  std::int64_t width;
  std::vector<double> q = random_values(q_offsets.back() * width, 1, -2, 2);
  std::vector<double> k = random_values(k_offsets.back() * width, 2, -2, 2);
  std::vector<double> v = random_values(k_offsets.back() * width, 3);

  /// The weight is element `e` of all: 0, or 1 / (1 - rate). The op is the first random one of its step.
  static double factor(std::uint64_t e) {
    const core::RandomBlock block = core::random_block(kDropSeed, kDropStep << 16, e / 8);
    const std::uint32_t word = block[(e % 8) / 2];
    const std::uint32_t lane = e % 2 == 0 ? word & 0xFFFF : word >> 16;
    return lane >= 16384 ? 4.0 / 3 : 0;
  }

  /// sum_j softmax(q k / sqrt(d))_ij * factor_ij * v_j
  std::vector<double> expected() const {
    std::vector<double> y(q.size(), 0);
    const std::int64_t d = width / heads;
    std::uint64_t e = 0;
    for (std::size_t b = 0; b + 1 < q_offsets.size(); ++b)
      for (int h = 0; h < heads; ++h)
        for (std::int64_t i = q_offsets[b]; i < q_offsets[b + 1]; ++i) {
          std::vector<double> weights;
          for (std::int64_t j = k_offsets[b]; j < k_offsets[b + 1]; ++j) {
            double dot = 0;
            for (std::int64_t c = h * d; c < (h + 1) * d; ++c) dot += at(q, i, c) * at(k, j, c);
            weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(d))));
          }
          const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
          for (std::int64_t j = k_offsets[b]; j < k_offsets[b + 1]; ++j) {
            const double weight = weights[static_cast<std::size_t>(j - k_offsets[b])] / sum * factor(e++);
            for (std::int64_t c = h * d; c < (h + 1) * d; ++c)
              y[static_cast<std::size_t>(i * width + c)] += weight * at(v, j, c);
          }
        }
    return y;
  }

  ops::AttentionResult run(Rig& rig) const {
    Context& context = rig.context();
    autograd::training_mode(context).set_training(true);
    autograd::training_mode(context).set_random(kDropSeed, kDropStep);
    const auto rows = [&](const std::vector<double>& values) {
      return rig.constant(static_cast<std::int64_t>(values.size()) / width, width, values);
    };
    return ops::attention(context, rows(q), rows(k), rows(v), context.indices(q_offsets), context.indices(k_offsets),
                          {.heads = heads, .dropout = kDropRate}, true);
  }

 private:
  double at(const std::vector<double>& rows, std::int64_t row, std::int64_t col) const {
    return rows[static_cast<std::size_t>(row * width + col)];
  }
};

class AttentionDropoutTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Attention, AttentionDropoutTest, kAllDevices, device_name);

TEST_P(AttentionDropoutTest, DropsWeightsBehindTheSoftmaxByHand) {
  for (const DroppingAttention& attention :
       {DroppingAttention{.q_offsets = {0, 2}, .k_offsets = {0, 3}, .heads = 1, .width = 2},
        DroppingAttention{.q_offsets = {0, 3, 5}, .k_offsets = {0, 4, 7}, .heads = 2, .width = 6}}) {
    const std::vector<double> expected = attention.expected();
    Rig rig(GetParam());
    expect_close(values_of(attention.run(rig).output.value), expected, 1e-5,
                 std::to_string(attention.heads) + " heads");
  }
}

/// So many that a device has to find where the weights of each begin in parts.
TEST_P(AttentionDropoutTest, DropsWeightsOfManySequencesByHand) {
  DroppingAttention attention{.q_offsets = {0}, .k_offsets = {0}, .heads = 2, .width = 4, .q = {}, .k = {}, .v = {}};
  for (int b = 0; b < 700; ++b) {
    attention.q_offsets.push_back(attention.q_offsets.back() + b % 3);
    attention.k_offsets.push_back(attention.k_offsets.back() + b % 4 + b / 699);
  }
  attention.q = random_values(attention.q_offsets.back() * attention.width, 1, -2, 2);
  attention.k = random_values(attention.k_offsets.back() * attention.width, 2, -2, 2);
  attention.v = random_values(attention.k_offsets.back() * attention.width, 3);
  Rig rig(GetParam());
  expect_close(values_of(attention.run(rig).output.value), attention.expected(), 1e-5, "700 sequences");
}

/// What is returned is what the softmax gives: rows of sum 1, whatever was dropped of them.
TEST_P(AttentionDropoutTest, ReturnsTheWeightsBeforeDropout) {
  const DroppingAttention attention{.q_offsets = {0, 2}, .k_offsets = {0, 3}, .heads = 1, .width = 2};
  double kept = 0;
  for (std::uint64_t e = 0; e < 6; ++e) kept += DroppingAttention::factor(e) > 0 ? 1 : 0;
  ASSERT_LT(kept, 6) << "the mask of the example drops nothing";
  Rig rig(GetParam());
  const std::vector<double> weights = values_of(attention.run(rig).weights.value);
  ASSERT_EQ(weights.size(), 6U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(weights[3 * i] + weights[3 * i + 1] + weights[3 * i + 2], 1, 1e-6);
}

}  // namespace
}  // namespace dragoman::testing
