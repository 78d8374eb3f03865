#include "op_harness.h"

#include <cmath>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/slice.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;
constexpr double kEpsilon = 1e-5;

struct NormShape {
  std::int64_t rows;
  std::int64_t cols;
  bool large = false;
};

const std::vector<NormShape> kShapes = {{1, 2},         {1, 16},          {5, 7},         {3, 33},
                                        {0, 4},         {190, 130, true}, {5, 256, true}, {3, 264, true},
                                        {5, 520, true}, {3, 1032, true},  {2, 2056, true}};

std::string norm_suffix(const NormShape& shape) {
  return "_" + std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
}

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> result;
  for (const NormShape& shape : kShapes)
    result.push_back(
        {.name = "layer_norm" + norm_suffix(shape),
         .operands = {{shape.rows, shape.cols, -2, 3}, {1, shape.cols, 0.5, 1.5}, {1, shape.cols}},
         .run = [](Context& c, Operands x) { return std::vector{ops::layer_norm(c, x[0], x[1], x[2], kEpsilon)}; },
         .tolerance = 1e-4,
         .finite_differences = !shape.large});
  for (const NormShape& shape : kShapes)
    result.push_back({.name = "rms_norm" + norm_suffix(shape),
                      .operands = {{shape.rows, shape.cols, -2, 3}, {1, shape.cols, 0.5, 1.5}},
                      .run = [](Context& c, Operands x) { return std::vector{ops::rms_norm(c, x[0], x[1], kEpsilon)}; },
                      .tolerance = 1e-4,
                      .finite_differences = !shape.large});
  return result;
}

enum class Outputs { kBoth, kSum, kNormalised };

struct Variant {
  std::string name;
  Outputs outputs;
  double rate;
};

const std::vector<Variant> kVariants = {{"both", Outputs::kBoth, 0},
                                        {"both_dropout", Outputs::kBoth, 0.3},
                                        {"sum_only_dropout", Outputs::kSum, 0.3},
                                        {"normalised_only", Outputs::kNormalised, 0},
                                        {"normalised_only_dropout", Outputs::kNormalised, 0.3}};

std::vector<Variable> chosen(const ops::ResidualNorm& result, Outputs outputs) {
  if (outputs == Outputs::kSum) return {result.sum};
  if (outputs == Outputs::kNormalised) return {result.normalised};
  return {result.sum, result.normalised};
}

std::vector<OpCase> residual_cases(bool composite) {
  std::vector<OpCase> result;
  for (const Variant& variant : kVariants)
    for (const NormShape& shape : kShapes) {
      const Operand whole{shape.rows, shape.cols, -2, 2};
      result.push_back({.name = "residual_" + variant.name + norm_suffix(shape),
                        .operands = {whole, whole, {1, shape.cols, 0.5, 1.5}, {1, shape.cols}},
                        .run =
                            [=](Context& c, Operands x) {
                              return chosen(composite ? ops::residual_dropout_layer_norm_composite(
                                                            c, x[0], x[1], variant.rate, x[2], x[3], kEpsilon)
                                                      : ops::residual_dropout_layer_norm(c, x[0], x[1], variant.rate,
                                                                                         x[2], x[3], kEpsilon),
                                            variant.outputs);
                            },
                        .training = variant.rate > 0,
                        .tolerance = 1e-4,
                        .finite_differences = !shape.large});
      result.push_back({.name = "rms_residual_" + variant.name + norm_suffix(shape),
                        .operands = {whole, whole, {1, shape.cols, 0.5, 1.5}},
                        .run =
                            [=](Context& c, Operands x) {
                              const auto op =
                                  composite ? ops::residual_dropout_rms_norm_composite : ops::residual_dropout_rms_norm;
                              return chosen(op(c, x[0], x[1], variant.rate, x[2], kEpsilon), variant.outputs);
                            },
                        .training = variant.rate > 0,
                        .tolerance = 1e-4,
                        .finite_differences = !shape.large});
    }
  return result;
}

INSTANTIATE_TEST_SUITE_P(LayerNorm, OpTest, ::testing::ValuesIn(norm_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(LayerNorm, OpGradientTest, ::testing::ValuesIn(small(norm_cases())), case_name);
INSTANTIATE_TEST_SUITE_P(ResidualLayerNorm, OpTest, ::testing::ValuesIn(residual_cases(false)), case_name);
INSTANTIATE_TEST_SUITE_P(ResidualLayerNorm, OpGradientTest, ::testing::ValuesIn(small(residual_cases(false))),
                         case_name);

/// Two sub-layers whose inputs share memory, and whose sums may overwrite the outputs before them. What reads the first
/// input must find it in the backward pass, where the second one has been written over it.
std::vector<OpCase> shared_cases() {
  std::vector<OpCase> result;
  const std::vector<NormShape> shapes = {{1, 2}, {5, 7}, {3, 33}, {190, 130, true}, {5, 256, true}};
  for (const bool shares : {false, true})
    for (const NormShape& shape : shapes) {
      const Operand whole{shape.rows, shape.cols, -2, 2};
      const Operand square{shape.cols, shape.cols, -0.3, 0.3};
      result.push_back(
          {.name = (shares ? "shared" : "own") + norm_suffix(shape),
           .operands = {whole, whole, {1, shape.cols, 0.5, 1.5}, {1, shape.cols}, square, square},
           .run =
               [=](Context& c, Operands x) {
                 ops::NormAgain again;
                 const bool can = shares && ops::shares_norm_memory(c);
                 const ops::NormMemory memory{.normalised = can ? c.allocate(shape.rows, shape.cols) : Tensor{},
                                              .again = &again,
                                              .may_overwrite_x = can};
                 Variable stream = x[0], pending = ops::scale(c, x[1], 1);
                 for (const std::size_t weight : {4, 5}) {
                   const ops::ResidualNorm norm =
                       ops::residual_dropout_layer_norm(c, stream, pending, 0.3, x[2], x[3], kEpsilon, memory);
                   stream = norm.sum;
                   pending = ops::linear(c, norm.normalised, {x[weight], nullptr, {}}, {});
                   if (!again.empty()) ops::record_again(c, again);
                   again = {};
                 }
                 return std::vector<Variable>{ops::add(c, stream, pending)};
               },
           .training = true,
           .tolerance = 1e-3,
           .finite_differences = !shape.large});
    }
  return result;
}
INSTANTIATE_TEST_SUITE_P(SharedNorms, OpTest, ::testing::ValuesIn(shared_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(SharedNorms, OpGradientTest, ::testing::ValuesIn(small(shared_cases())), case_name);

TEST(ResidualLayerNorm, FusedFormEqualsTheComposite) {
  const std::vector<OpCase> fused = residual_cases(false);
  const std::vector<OpCase> composite = residual_cases(true);
  for (std::size_t i = 0; i < fused.size(); ++i) expect_equivalent(fused[i], composite[i]);
}

class LayerNormTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(LayerNorm, LayerNormTest, kAllDevices, device_name);

TEST_P(LayerNormTest, NormalisesByHand) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 4, std::vector<double>{1, 3, 5, 7});  // mean 4, biased variance 5
  const Variable gain = rig.constant(1, 4, std::vector<double>{1, 1, 2, 1});
  const Variable bias = rig.constant(1, 4, std::vector<double>{0, 0.5, 0, 0});
  const double unit = 1 / std::sqrt(5 + kEpsilon);
  const std::vector<double> expected{-3 * unit, -unit + 0.5, 2 * unit, 3 * unit};
  expect_close(values_of(ops::layer_norm(rig.context(), x, gain, bias, kEpsilon).value), expected, 1e-6, "layer_norm");
}

TEST_P(LayerNormTest, RootMeanSquaresByHand) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 4, std::vector<double>{1, -3, 5, 7});  // mean square 21
  const Variable gain = rig.constant(1, 4, std::vector<double>{1, 1, 2, 1});
  const double unit = 1 / std::sqrt(21 + kEpsilon);
  const std::vector<double> expected{unit, -3 * unit, 10 * unit, 7 * unit};
  expect_close(values_of(ops::rms_norm(rig.context(), x, gain, kEpsilon).value), expected, 1e-6, "rms_norm");
}

TEST_P(LayerNormTest, AConstantRowGivesTheBias) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 5, std::vector<double>(5, 1234.5));
  const Variable gain = rig.constant(1, 5, std::vector<double>(5, 3.0));
  const Variable bias = rig.constant(1, 5, std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_EQ(values_of(ops::layer_norm(rig.context(), x, gain, bias, kEpsilon).value), values_of(bias.value));
}

TEST_P(LayerNormTest, AFarMeanCostsNoPrecision) {
  // With sum(x^2) - mean^2 the variance of this row would drown in rounding: the mean is 1000 times the deviation.
  Rig rig(GetParam());
  const std::vector<double> offsets = random_values(64, 9);
  std::vector<double> values;
  for (const double offset : offsets) values.push_back(static_cast<float>(1024 + offset));
  const Variable gain = rig.constant(1, 64, std::vector<double>(64, 1.0));
  const Variable bias = rig.constant(1, 64, std::vector<double>(64, 0.0));
  Rig exact(Device::kReference);
  const Variable expected = ops::layer_norm(exact.context(), exact.constant(1, 64, values),
                                            exact.constant(1, 64, std::vector<double>(64, 1.0)),
                                            exact.constant(1, 64, std::vector<double>(64, 0.0)), kEpsilon);
  const Variable y = ops::layer_norm(rig.context(), rig.constant(1, 64, values), gain, bias, kEpsilon);
  expect_close(values_of(y.value), values_of(expected.value), 1e-3, "layer_norm");
}

TEST_P(LayerNormTest, RefusesAGainOfAnotherWidth) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 4, std::vector<double>(4, 1.0));
  const Variable narrow = rig.constant(1, 3, std::vector<double>(3, 1.0));
  EXPECT_THROW(ops::layer_norm(rig.context(), x, narrow, x, kEpsilon), core::Error);
  EXPECT_THROW(ops::layer_norm(rig.context(), x, x, narrow, kEpsilon), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
