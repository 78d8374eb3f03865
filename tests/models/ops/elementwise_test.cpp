#include "op_harness.h"

#include <cmath>
#include <limits>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/slice.h>

namespace dragoman::testing {
namespace {

using ops::Activation;
using Operands = std::span<const Variable>;

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
  bool large = false;
};

std::vector<Shape> shapes() {
  return {{1, 1}, {1, 7}, {5, 1}, {4, 16}, {3, 33}, {0, 4}, {300, 257, true}};
}

std::string suffix(const Shape& shape) {
  return "_" + std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
}

std::vector<OpCase> binary_cases() {
  std::vector<OpCase> cases;
  for (const Shape& shape : shapes()) {
    const Operand whole{shape.rows, shape.cols};
    const Operand row{1, shape.cols};
    cases.push_back({.name = "add" + suffix(shape),
                     .operands = {whole, whole},
                     .run = [](Context& c, Operands x) { return std::vector{ops::add(c, x[0], x[1])}; },
                     .finite_differences = !shape.large});
    cases.push_back({.name = "multiply" + suffix(shape),
                     .operands = {whole, whole},
                     .run = [](Context& c, Operands x) { return std::vector{ops::multiply(c, x[0], x[1])}; },
                     .finite_differences = !shape.large});
    cases.push_back({.name = "square" + suffix(shape),
                     .operands = {whole},
                     .run = [](Context& c, Operands x) { return std::vector{ops::multiply(c, x[0], x[0])}; },
                     .finite_differences = !shape.large});
    cases.push_back({.name = "scale" + suffix(shape),
                     .operands = {whole},
                     .run = [](Context& c, Operands x) { return std::vector{ops::scale(c, x[0], -1.75)}; },
                     .finite_differences = !shape.large});
    cases.push_back({.name = "add_row" + suffix(shape),
                     .operands = {whole, row},
                     .run = [](Context& c, Operands x) { return std::vector{ops::add_row(c, x[0], x[1])}; },
                     .tolerance = 1e-4,
                     .finite_differences = !shape.large});
  }
  return cases;
}

const std::vector<std::pair<std::string, Activation>> kElementwiseActivations = {
    {"none", Activation::kNone},          {"relu", Activation::kRelu},   {"gelu", Activation::kGelu},
    {"gelu_tanh", Activation::kGeluTanh}, {"swish", Activation::kSwish}, {"sigmoid", Activation::kSigmoid},
    {"tanh", Activation::kTanh}};

std::vector<OpCase> activation_cases() {
  std::vector<OpCase> cases;
  for (const auto& [name, activation] : kElementwiseActivations)
    for (const Shape& shape : shapes())
      cases.push_back({.name = name + suffix(shape),
                       .operands = {{shape.rows, shape.cols, -5, 5}},
                       .run = [activation = activation](
                                  Context& c, Operands x) { return std::vector{ops::activate(c, x[0], activation)}; },
                       .finite_differences = !shape.large});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Elementwise, OpTest, ::testing::ValuesIn(binary_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Elementwise, OpGradientTest, ::testing::ValuesIn(small(binary_cases())), case_name);
INSTANTIATE_TEST_SUITE_P(Activation, OpTest, ::testing::ValuesIn(activation_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Activation, OpGradientTest, ::testing::ValuesIn(small(activation_cases())), case_name);

class EachBackend : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Elementwise, EachBackend, kAllDevices, device_name);

TEST_P(EachBackend, ComputesWhatTheFormulasSay) {
  Rig rig(GetParam());
  Context& context = rig.context();
  const Variable a = rig.constant(2, 2, std::vector<double>{1, -2, 3, 0.5});
  const Variable b = rig.constant(2, 2, std::vector<double>{4, 0.25, -1, 8});
  const Variable row = rig.constant(1, 2, std::vector<double>{10, 20});
  EXPECT_EQ(values_of(ops::add(context, a, b).value), (std::vector<double>{5, -1.75, 2, 8.5}));
  EXPECT_EQ(values_of(ops::multiply(context, a, b).value), (std::vector<double>{4, -0.5, -3, 4}));
  EXPECT_EQ(values_of(ops::scale(context, a, -2).value), (std::vector<double>{-2, 4, -6, -1}));
  EXPECT_EQ(values_of(ops::add_row(context, a, row).value), (std::vector<double>{11, 18, 13, 20.5}));
  EXPECT_EQ(values_of(ops::activate(context, a, Activation::kRelu).value), (std::vector<double>{1, 0, 3, 0.5}));
}

TEST_P(EachBackend, ActivationsStayFiniteFarOut) {
  for (const auto& [name, activation] : kElementwiseActivations) {
    Rig rig(GetParam());
    rig.record();
    const Variable x = rig.variable(1, 6, std::vector<double>{-1e4, -100, -30, 30, 100, 1e4}, true);
    const Variable y = ops::activate(rig.context(), x, activation);
    for (const double value : values_of(y.value)) EXPECT_TRUE(std::isfinite(value)) << name;
    rig.backward(ops::weighted_sum(rig.context(), y, rig.matrix(1, 6, std::vector<double>(6, 1.0))));
    for (const double value : gradient_of(x)) EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST_P(EachBackend, ScalingByZeroClearsMemoryWhateverItHolds) {
  Rig rig(GetParam());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = rig.matrix(3, 5, std::vector<double>(15, nan));
  rig.context().kernels().get(ops::kScale)(rig.context(), {x, 0.0, x, false});
  EXPECT_EQ(values_of(x), std::vector<double>(15, 0.0));
}

TEST_P(EachBackend, BackwardOfAnActivationMayOverwriteItsInput) {
  Rig rig(GetParam());
  const Tensor y = rig.matrix(1, 4, std::vector<double>{0, 0.5, 0, 2});
  const Tensor dy = rig.matrix(1, 4, std::vector<double>{1, 2, 3, 4});
  rig.context().kernels().get(ops::kActivationBackward)(rig.context(), {{}, y, Activation::kRelu, dy, dy, false});
  EXPECT_EQ(values_of(dy), (std::vector<double>{0, 2, 0, 4}));
}

TEST_P(EachBackend, RefusesOperandsOfDifferentShapes) {
  Rig rig(GetParam());
  const Variable a = rig.constant(2, 3, std::vector<double>(6, 1.0));
  const Variable b = rig.constant(3, 2, std::vector<double>(6, 1.0));
  EXPECT_THROW(ops::add(rig.context(), a, b), core::Error);
  EXPECT_THROW(ops::multiply(rig.context(), a, b), core::Error);
  EXPECT_THROW(ops::add_row(rig.context(), a, b), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
