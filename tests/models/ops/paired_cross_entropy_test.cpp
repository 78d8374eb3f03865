#include "op_harness.h"

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/ops/paired_cross_entropy.h>

namespace dragoman::testing {
namespace {

struct PairSetting {
  std::int64_t pairs;
  std::int64_t width;
  std::int64_t vocabulary;
  double smoothing = 0;
  double weight = 0;
};

std::vector<PairSetting> pair_settings() {
  // The last has more pairs than a chunk.
  return {{.pairs = 1, .width = 3, .vocabulary = 2, .weight = 1},
          {.pairs = 5, .width = 4, .vocabulary = 7, .smoothing = 0.1, .weight = 5},
          {.pairs = 4, .width = 4, .vocabulary = 33, .smoothing = 0.3},
          {.pairs = 300, .width = 8, .vocabulary = 40, .smoothing = 0.1, .weight = 2}};
}

/// Losses, likelihoods and all gradients, end to end.
std::vector<double> outcome_of(Device device, const PairSetting& setting, int threads = 1) {
  Rig rig(device, threads);
  rig.record();
  const auto variable = [&](std::int64_t rows, std::int64_t cols, std::uint64_t stream) {
    return rig.variable(rows, cols, random_values(rows * cols, stream, -1.5, 1.5), true);
  };
  const Variable hidden = variable(2 * setting.pairs, setting.width, 1);
  const ops::Projection projection{{variable(setting.vocabulary, setting.width, 2), nullptr},
                                   variable(1, setting.vocabulary, 3)};
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < setting.pairs; ++i)
    targets.push_back(i % 4 == 3 ? ops::kNoTarget : static_cast<std::int32_t>(i * 7 % setting.vocabulary));
  const ops::RowLosses rows =
      ops::paired_cross_entropy_rows(rig.context(), hidden, projection, rig.context().indices(targets),
                                     setting.smoothing, setting.weight, rig.context().upload_copy(0.25));
  rig.tape().backward(rig.context());
  std::vector<double> all;
  const auto append = [&](const std::vector<double>& values) { all.insert(all.end(), values.begin(), values.end()); };
  append(values_of(rows.losses));
  append(values_of(rows.nlls));
  for (const Variable& operand : {hidden, projection.weight.value, projection.bias}) append(gradient_of(operand));
  return all;
}

class PairedCrossEntropyTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(PairedCrossEntropy, PairedCrossEntropyTest, kAllDevices, device_name);

TEST_P(PairedCrossEntropyTest, FollowsTheReference) {
  for (const PairSetting& setting : pair_settings())
    expect_close(outcome_of(GetParam(), setting), outcome_of(Device::kReference, setting), 3e-5,
                 std::to_string(setting.pairs) + " pairs");
}

/// Two pieces, logits (0, 0) and (log 3, 0), so p = (1/2, 1/2) and q = (3/4, 1/4), with the first as the target:
/// KL(p || q) = (log(2/3) + log 2) / 2, KL(q || p) = 3/4 log(3/2) - 1/4 log 2.
TEST_P(PairedCrossEntropyTest, IsThePapersByHand) {
  Rig rig(GetParam());
  const Variable hidden = rig.constant(2, 1, std::vector<double>{0, 1});
  const ops::Projection projection{{rig.constant(2, 1, std::vector<double>{std::log(3.0), 0}), nullptr}, {}};
  const std::vector<std::int32_t> targets{0};
  const ops::RowLosses rows =
      ops::paired_cross_entropy_rows(rig.context(), hidden, projection, rig.context().indices(targets), 0, 4, {});
  const double nll = (std::log(2.0) + std::log(4.0 / 3)) / 2;
  const double divergence = (std::log(2.0 / 3) + std::log(2.0)) / 2 + 0.75 * std::log(1.5) - 0.25 * std::log(2.0);
  expect_close(values_of(rows.nlls), std::vector<double>{nll}, 1e-6, "nll");
  expect_close(values_of(rows.losses), std::vector<double>{nll + divergence}, 1e-6, "loss");
}

TEST(PairedCrossEntropy, HasTheSameBitsForAnyThreads) {
  const PairSetting setting = pair_settings().back();
  const std::vector<double> one = outcome_of(Device::kCpu, setting);
  EXPECT_EQ(outcome_of(Device::kCpu, setting, 2), one);
  EXPECT_EQ(outcome_of(Device::kCpu, setting, 3), one);
}

TEST_P(PairedCrossEntropyTest, RefusesRowsWithoutAPartner) {
  Rig rig(GetParam());
  const ops::Projection projection{{rig.constant(2, 1, std::vector<double>{1, 0}), nullptr}, {}};
  const std::vector<std::int32_t> targets{0, 1}, outside{2};
  const auto compute = [&](std::int64_t rows, const std::vector<std::int32_t>& wanted) {
    const Variable hidden = rig.constant(rows, 1, std::vector<double>(static_cast<std::size_t>(rows)));
    ops::paired_cross_entropy_rows(rig.context(), hidden, projection, rig.context().indices(wanted), 0, 1, {});
  };
  EXPECT_THROW(compute(3, targets), core::Error);
  EXPECT_THROW(compute(2, outside), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
