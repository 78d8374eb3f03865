#include "op_harness.h"

#include <cmath>

#include <dragoman/core/random.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;

std::vector<OpCase> dropout_cases() {
  std::vector<OpCase> result;
  for (const Operand& shape : {Operand{1, 1}, Operand{1, 9}, Operand{6, 7}, Operand{3, 33}, Operand{0, 4},
                               Operand{300, 133}, Operand{101, 264}, Operand{100, 2056}})
    for (const double rate : {0.1, 0.5})
      result.push_back(
          {.name = std::to_string(shape.rows) + "x" + std::to_string(shape.cols) + (rate > 0.3 ? "_half" : "_tenth"),
           .operands = {shape},
           .run = [rate](Context& c, Operands x) { return std::vector{ops::dropout(c, x[0], rate)}; },
           .training = true,
           .finite_differences = shape.rows < 100});
  return result;
}

INSTANTIATE_TEST_SUITE_P(Dropout, OpTest, ::testing::ValuesIn(dropout_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Dropout, OpGradientTest, ::testing::ValuesIn(small(dropout_cases())), case_name);

/// Dropout of ones in training mode: 0 where dropped.
std::vector<double> dropped_ones(Device device, std::int64_t rows, std::int64_t cols, double rate, std::uint64_t seed,
                                 std::uint64_t step) {
  Rig rig(device);
  autograd::training_mode(rig.context()).set_training(true);
  autograd::training_mode(rig.context()).set_random(seed, step);
  const Variable ones = rig.constant(rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols), 1.0));
  return values_of(ops::dropout(rig.context(), ones, rate).value);
}

std::vector<bool> kept(const std::vector<double>& values) {
  std::vector<bool> result;
  for (const double value : values) result.push_back(value != 0);
  return result;
}

class DropoutTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Dropout, DropoutTest, kAllDevices, device_name);

TEST_P(DropoutTest, DrawsTheMaskThatTheContractDescribes) {
  constexpr std::uint64_t kSeed = 0x123456789ABCDEF0;
  constexpr std::uint64_t kStep = 77;
  constexpr double kRate = 0.25;
  for (const std::int64_t cols : {13, 16, 264, 2056}) {
    SCOPED_TRACE(cols);
    const std::vector<double> values = dropped_ones(GetParam(), 5, cols, kRate, kSeed, kStep);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(5 * cols));
    for (std::size_t e = 0; e < values.size(); ++e) {
      // The first random op of the step: stream (step << 16) | 0.
      const core::RandomBlock block = core::random_block(kSeed, kStep << 16, e / 8);
      const std::uint32_t word = block[(e % 8) / 2];
      const std::uint32_t lane = e % 2 == 0 ? word & 0xFFFF : word >> 16;
      EXPECT_FLOAT_EQ(static_cast<float>(values[e]), lane >= 16384 ? 4.0F / 3 : 0.0F) << "element " << e;
    }
  }
}

TEST_P(DropoutTest, KeepsTheShareAndTheExpectation) {
  constexpr std::int64_t kCount = 1 << 20;
  for (const double rate : {0.1, 0.3, 0.9}) {
    const std::vector<double> values = dropped_ones(GetParam(), 1024, 1024, rate, 5, 1);
    double sum = 0;
    double dropped = 0;
    for (const double value : values) {
      sum += value;
      dropped += value == 0 ? 1 : 0;
    }
    const double deviation = std::sqrt(rate * (1 - rate) / kCount);
    EXPECT_NEAR(dropped / kCount, rate, 4 * deviation + 1.0 / 65536) << rate;
    EXPECT_NEAR(sum / kCount, 1, 4 * deviation / (1 - rate)) << rate;
  }
}

TEST_P(DropoutTest, NeighboursAreIndependent) {
  const std::vector<bool> mask = kept(dropped_ones(GetParam(), 1, 1 << 18, 0.5, 6, 1));
  for (const std::size_t lag : {1, 2, 4, 8, 16, 1024}) {
    std::int64_t equal = 0;
    for (std::size_t i = 0; i + lag < mask.size(); ++i) equal += mask[i] == mask[i + lag] ? 1 : 0;
    const auto pairs = static_cast<double>(mask.size() - lag);
    EXPECT_NEAR(static_cast<double>(equal) / pairs, 0.5, 2.5 / std::sqrt(pairs)) << "lag " << lag;
  }
}

TEST_P(DropoutTest, EverySeedStepAndOpDrawsItsOwnMask) {
  const auto base = kept(dropped_ones(GetParam(), 8, 64, 0.5, 1, 1));
  EXPECT_EQ(base, kept(dropped_ones(GetParam(), 8, 64, 0.5, 1, 1)));
  EXPECT_NE(base, kept(dropped_ones(GetParam(), 8, 64, 0.5, 2, 1)));
  EXPECT_NE(base, kept(dropped_ones(GetParam(), 8, 64, 0.5, 1, 2)));

  Rig rig(GetParam());
  autograd::training_mode(rig.context()).set_training(true);
  autograd::training_mode(rig.context()).set_random(1, 1);
  const Variable ones = rig.constant(8, 64, std::vector<double>(512, 1.0));
  const auto first = kept(values_of(ops::dropout(rig.context(), ones, 0.5).value));
  const auto second = kept(values_of(ops::dropout(rig.context(), ones, 0.5).value));
  EXPECT_EQ(first, base);
  EXPECT_NE(first, second);
}

TEST_P(DropoutTest, TheMaskGoesByLogicalElementsNotByMemory) {
  Rig rig(GetParam());
  autograd::training_mode(rig.context()).set_training(true);
  autograd::training_mode(rig.context()).set_random(1, 1);
  const Tensor wide = rig.matrix(8, 70, std::vector<double>(560, 1.0));
  const Variable view{wide.col_range(3, 67), nullptr};
  EXPECT_EQ(kept(values_of(ops::dropout(rig.context(), view, 0.5).value)),
            kept(dropped_ones(GetParam(), 8, 64, 0.5, 1, 1)));
}

TEST_P(DropoutTest, HandsThroughOutsideOfTrainingAndAtRateZero) {
  Rig rig(GetParam());
  const Variable x = rig.constant(2, 2, std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(ops::dropout(rig.context(), x, 0.5).value.data, x.value.data);
  autograd::training_mode(rig.context()).set_training(true);
  EXPECT_EQ(ops::dropout(rig.context(), x, 0).value.data, x.value.data);
}

TEST_P(DropoutTest, RefusesARateOutsideOfItsRange) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 1, std::vector<double>{1});
  const std::vector<std::int32_t> ids{0};
  const std::vector<std::int32_t> offsets{0, 1};
  Context& context = rig.context();
  for (const double rate : {1.0, 0.999995, -0.1, std::nan("")}) {
    EXPECT_THROW(ops::dropout(context, x, rate), core::Error);
    EXPECT_THROW(ops::embedding(context, context.indices(ids), x, {}, {}, {.dropout = rate}), core::Error);
    EXPECT_THROW(
        ops::attention(context, x, x, x, context.indices(offsets), context.indices(offsets), {.dropout = rate}),
        core::Error);
    EXPECT_THROW(ops::residual_dropout_layer_norm(context, x, x, rate, x, x, 1e-5), core::Error);
  }
}

TEST(Dropout, AllBackendsDrawTheSameMask) {
  EXPECT_EQ(kept(dropped_ones(Device::kCpu, 37, 91, 0.2, 9, 4)),
            kept(dropped_ones(Device::kReference, 37, 91, 0.2, 9, 4)));
}

}  // namespace
}  // namespace dragoman::testing
