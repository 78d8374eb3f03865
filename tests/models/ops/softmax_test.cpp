#include "op_harness.h"

#include <cmath>
#include <numeric>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/softmax.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> result;
  for (const Operand& shape : {Operand{1, 1, -3, 3}, Operand{1, 9, -3, 3}, Operand{5, 8, -3, 3}, Operand{4, 33, -9, 9},
                               Operand{0, 3}, Operand{200, 130, -9, 9}}) {
    const std::string name = std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
    const bool small = shape.rows < 100;
    result.push_back({.name = "softmax_" + name,
                      .operands = {shape},
                      .run = [](Context& c, Operands x) { return std::vector{ops::softmax(c, x[0])}; },
                      .finite_differences = small});
    result.push_back({.name = "log_softmax_" + name,
                      .operands = {shape},
                      .run = [](Context& c, Operands x) { return std::vector{ops::log_softmax(c, x[0])}; },
                      .finite_differences = small});
    for (const std::int64_t offset : {0, 3})
      result.push_back({.name = "causal_" + std::to_string(offset) + "_" + name,
                        .operands = {shape},
                        .run = [offset](Context& c, Operands x) { return std::vector{ops::softmax(c, x[0], offset)}; },
                        .finite_differences = small});
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Softmax, OpTest, ::testing::ValuesIn(softmax_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Softmax, OpGradientTest, ::testing::ValuesIn(small(softmax_cases())), case_name);

class SoftmaxTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Softmax, SoftmaxTest, kAllDevices, device_name);

TEST_P(SoftmaxTest, GivesTheKnownDistribution) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 3, std::vector<double>{0, std::log(2.0), std::log(5.0)});
  expect_close(values_of(ops::softmax(rig.context(), x).value), std::vector<double>{0.125, 0.25, 0.625}, 1e-6,
               "softmax");
  expect_close(values_of(ops::log_softmax(rig.context(), x).value),
               std::vector<double>{std::log(0.125), std::log(0.25), std::log(0.625)}, 1e-6, "log-softmax");
}

TEST_P(SoftmaxTest, SurvivesHugeLogits) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 4, std::vector<double>{1e30, 1e30, -1e30, 0});
  expect_close(values_of(ops::softmax(rig.context(), x).value), std::vector<double>{0.5, 0.5, 0, 0}, 1e-6, "softmax");
}

TEST_P(SoftmaxTest, GivesSuppressedTokensNoProbability) {
  Rig rig(GetParam());
  const double nothing = -std::numeric_limits<double>::infinity();
  const Variable x = rig.constant(1, 3, std::vector<double>{1, nothing, 1});
  EXPECT_EQ(values_of(ops::softmax(rig.context(), x).value)[1], 0);
  EXPECT_EQ(values_of(ops::log_softmax(rig.context(), x).value)[1], nothing);
}

TEST_P(SoftmaxTest, CausalRowsSeeOnlyWhatCameBefore) {
  Rig rig(GetParam());
  const Variable x = rig.constant(3, 4, std::vector<double>(12, 0.0));
  const double third = 1.0 / 3;
  expect_close(values_of(ops::softmax(rig.context(), x, 1).value),
               std::vector<double>{0.5, 0.5, 0, 0, third, third, third, 0, 0.25, 0.25, 0.25, 0.25}, 1e-6, "softmax");
}

TEST_P(SoftmaxTest, RowsAreDistributions) {
  Rig rig(GetParam());
  const Variable x = rig.constant(20, 1000, random_values(20000, 5, -20, 20));
  const Tensor y = ops::softmax(rig.context(), x).value;
  for (std::int64_t row = 0; row < y.rows; ++row) {
    const std::vector<double> p = values_of(y.row_range(row, row + 1));
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-5);
  }
}

}  // namespace
}  // namespace dragoman::testing
