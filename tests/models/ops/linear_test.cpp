#include "op_harness.h"

#include <limits>
#include <tuple>

#include <dragoman/core/error.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/linear.h>

namespace dragoman::testing {
namespace {

using ops::Activation;
using Operands = std::span<const Variable>;

struct LinearSize {
  std::int64_t rows;
  std::int64_t inputs;
  std::int64_t outputs;
  bool large = false;
};

const std::vector<std::pair<std::string, Activation>> kActivations = {
    {"none", Activation::kNone},          {"relu", Activation::kRelu},   {"gelu", Activation::kGelu},
    {"gelu_tanh", Activation::kGeluTanh}, {"swish", Activation::kSwish}, {"sigmoid", Activation::kSigmoid},
    {"tanh", Activation::kTanh}};

OpCase linear_case(const LinearSize& size, const std::string& name, Activation activation, bool with_bias,
                   bool composite) {
  OpCase result{.name = name + (with_bias ? "_bias_" : "_") + std::to_string(size.rows) + "x" +
                        std::to_string(size.inputs) + "x" + std::to_string(size.outputs),
                .operands = {{size.rows, size.inputs}, {size.outputs, size.inputs}},
                .run = {},
                .finite_differences = !size.large};
  if (with_bias) result.operands.push_back({1, size.outputs});
  result.run = [=](Context& context, Operands x) {
    const Variable bias = with_bias ? x[2] : Variable{};
    const ops::Weight weight{x[1], nullptr};
    return std::vector{composite ? ops::linear_composite(context, x[0], weight, bias, activation)
                                 : ops::linear(context, x[0], weight, bias, activation)};
  };
  return result;
}

std::vector<OpCase> linear_cases(bool composite) {
  std::vector<OpCase> result;
  for (const auto& [name, activation] : kActivations)
    for (const bool with_bias : {false, true})
      for (const LinearSize& size : {LinearSize{1, 1, 1}, LinearSize{1, 5, 3}, LinearSize{4, 7, 6}, LinearSize{0, 4, 3},
                                     LinearSize{67, 96, 130, true}})
        result.push_back(linear_case(size, name, activation, with_bias, composite));
  return result;
}

/// Without an activation, or with one that is exact, so that what is rounded is the same on all backends. There are no
/// finite differences of what is rounded.
std::vector<OpCase> cases_in(tensor::ComputeType type) {
  std::vector<OpCase> result;
  const std::string name(name_of(type));
  for (const auto& [title, activation, with_bias] :
       {std::tuple(name, Activation::kNone, false), std::tuple(name, Activation::kNone, true),
        std::tuple(name + "_relu", Activation::kRelu, true)})
    for (const LinearSize& size : {LinearSize{1, 1, 1}, LinearSize{4, 7, 6}, LinearSize{0, 4, 3},
                                   LinearSize{67, 96, 130}, LinearSize{545, 40, 70}, LinearSize{5, 600, 33}}) {
      OpCase op_case = linear_case(size, title, activation, with_bias, /*composite=*/false);
      op_case.run = [type, inner = op_case.run](Context& context, Operands x) {
        autograd::training_mode(context).set_compute_type(type);
        return inner(context, x);
      };
      result.push_back(std::move(op_case));
    }
  return result;
}

/// With a dropout of the output; rows of whole and of incomplete vectors.
std::vector<OpCase> dropped_cases(bool composite) {
  std::vector<OpCase> result;
  for (const auto& [name, activation] : kActivations)
    for (const LinearSize& size : {LinearSize{1, 1, 1}, LinearSize{4, 7, 6}, LinearSize{0, 4, 3}, LinearSize{5, 3, 8},
                                   LinearSize{67, 40, 264, true}}) {
      OpCase op_case = linear_case(size, name, activation, /*with_bias=*/true, composite);
      op_case.training = true;
      op_case.run = [=, act = activation](Context& context, Operands x) {
        const ops::Weight weight{x[1], nullptr};
        return std::vector{composite ? ops::dropout(context, ops::linear(context, x[0], weight, x[2], act), 0.3)
                                     : ops::dropped_linear(context, x[0], weight, x[2], act, 0.3)};
      };
      result.push_back(std::move(op_case));
    }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Linear, OpTest, ::testing::ValuesIn(linear_cases(false)), case_name);
INSTANTIATE_TEST_SUITE_P(DroppedLinear, OpTest, ::testing::ValuesIn(dropped_cases(false)), case_name);
INSTANTIATE_TEST_SUITE_P(LinearInBf16, OpTest, ::testing::ValuesIn(cases_in(tensor::ComputeType::kBF16)), case_name);
INSTANTIATE_TEST_SUITE_P(Linear, OpGradientTest, ::testing::ValuesIn(small(linear_cases(false))), case_name);

TEST(Linear, FusedFormEqualsTheComposite) {
  const std::vector<OpCase> fused = linear_cases(false);
  const std::vector<OpCase> composite = linear_cases(true);
  for (std::size_t i = 0; i < fused.size(); ++i) expect_equivalent(fused[i], composite[i]);
}

TEST(Linear, WithDropoutEqualsTheComposite) {
  const std::vector<OpCase> fused = dropped_cases(false);
  const std::vector<OpCase> composite = dropped_cases(true);
  for (std::size_t i = 0; i < fused.size(); ++i) expect_equivalent(fused[i], composite[i]);
}

/// Forward and both gradients, by hand: 1 + 2^-8 rounds to 1, and so does what it is multiplied with.
TEST(Linear, RoundsAllProductsOfABf16Context) {
  constexpr double kRoundsToOne = 1 + 0x1p-8;
  for (const Device device : all_devices()) {
    Rig rig(device);
    rig.record();
    autograd::training_mode(rig.context()).set_compute_type(tensor::ComputeType::kBF16);
    const Variable x = rig.variable(1, 1, std::vector{kRoundsToOne}, true);
    const Variable weight = rig.variable(1, 1, std::vector{3 * kRoundsToOne}, true);
    const Variable y = ops::linear(rig.context(), x, {weight, nullptr}, {});
    const double rounded_weight = 3 + 0x1p-6;  // 3.01171875 lies between 3 and 3 + 2^-6, nearer to the latter
    EXPECT_EQ(values_of(y.value), std::vector{rounded_weight}) << name_of(device);
    rig.backward(y);
    EXPECT_EQ(gradient_of(x), std::vector{rounded_weight}) << name_of(device);
    EXPECT_EQ(gradient_of(weight), std::vector{1.0}) << name_of(device);
  }
}

/// The CPU has no fp16, so this is no OpTest. Sums of up to 130 products of numbers below 1.
TEST(Linear, InFp16IsThatOfTheReference) {
  const std::vector<Device> devices = devices_that_train_in(tensor::ComputeChoice::kF16);
  for (const OpCase& op_case : cases_in(tensor::ComputeType::kF16)) {
    const Outcome expected = run_case(Device::kReference, op_case);
    for (const Device device : devices) {
      const Outcome actual = run_case(device, op_case);
      const std::string where = op_case.name + " on " + name_of(device);
      expect_close(actual.outputs[0], expected.outputs[0], op_case.tolerance, where);
      for (std::size_t i = 0; i < actual.gradients.size(); ++i)
        expect_close(actual.gradients[i], expected.gradients[i], op_case.tolerance, where + ", a gradient");
    }
  }
}

/// By hand: fp16 has 11 bits down to 2^-14 and multiples of 2^-24 below, and ends at 65504.
TEST(Linear, RoundsAllProductsOfAnFp16Context) {
  const auto product = [](Device device, double x_value, double weight_value) {
    Rig rig(device);
    rig.record();
    autograd::training_mode(rig.context()).set_compute_type(tensor::ComputeType::kF16);
    const Variable x = rig.variable(1, 1, std::vector{x_value}, true);
    const Variable weight = rig.variable(1, 1, std::vector{weight_value}, true);
    const Variable y = ops::linear(rig.context(), x, {weight, nullptr}, {});
    rig.backward(y);
    return std::vector{values_of(y.value)[0], gradient_of(x)[0], gradient_of(weight)[0]};
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Device device : devices_that_train_in(tensor::ComputeChoice::kF16)) {
    EXPECT_EQ(product(device, 1 + 0x1p-11, 3 + 0x3p-10), (std::vector{3 + 0x1p-8, 3 + 0x1p-8, 1.0})) << "ties to even";
    EXPECT_EQ(product(device, 0x1p-24, 0x3p-25), (std::vector{0x1p-47, 0x1p-23, 0x1p-24})) << "subnormal";
    EXPECT_EQ(product(device, 65519, 1), (std::vector{65504.0, 1.0, 65504.0}));
    EXPECT_EQ(product(device, -65520, 1), (std::vector{-infinity, 1.0, -infinity}));
  }
}

class LinearTest : public ::testing::TestWithParam<Device> {
 protected:
  std::unique_ptr<tensor::PackedWeight> pack(Rig& rig, const Tensor& weight) {
    return rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, tensor::ComputeType::kF32);
  }
};
INSTANTIATE_TEST_SUITE_P(Linear, LinearTest, kAllDevices, device_name);

TEST_P(LinearTest, ComputesByHand) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 2, std::vector<double>{1, -1});
  const Variable weight = rig.constant(3, 2, std::vector<double>{1, 2, 3, 4, 5, 7});
  const Variable bias = rig.constant(1, 3, std::vector<double>{10, 0.5, 1});
  const Variable y = ops::linear(rig.context(), x, {weight, nullptr}, bias, Activation::kRelu);
  EXPECT_EQ(values_of(y.value), (std::vector<double>{9, 0, 0}));
}

TEST_P(LinearTest, PackedWeightGivesThePlainResult) {
  for (const LinearSize& size : {LinearSize{1, 1, 1}, LinearSize{3, 5, 7}, LinearSize{20, 64, 96},
                                 LinearSize{9, 33, 65}, LinearSize{40, 512, 100}}) {
    Rig rig(GetParam());
    const Variable x = rig.constant(size.rows, size.inputs, random_values(size.rows * size.inputs, 1));
    const Variable weight = rig.constant(size.outputs, size.inputs, random_values(size.outputs * size.inputs, 2));
    const Variable bias = rig.constant(1, size.outputs, random_values(size.outputs, 3));
    const auto packed = pack(rig, weight.value);
    EXPECT_EQ(packed->rows(), size.outputs);
    EXPECT_EQ(packed->cols(), size.inputs);
    const Variable plain = ops::linear(rig.context(), x, {weight, nullptr}, bias, Activation::kGelu);
    const Variable fast = ops::linear(rig.context(), x, {{}, packed.get()}, bias, Activation::kGelu);
    expect_close(values_of(fast.value), values_of(plain.value), 2e-5, "inputs " + std::to_string(size.inputs));
  }
}

TEST_P(LinearTest, PackedWeightOutlivesThePlainOne) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 2, std::vector<double>{1, 1});
  std::unique_ptr<tensor::PackedWeight> packed;
  {
    Rig loader(GetParam());
    packed = pack(loader, loader.matrix(2, 2, std::vector<double>{1, 2, 3, 4}));
  }
  EXPECT_EQ(values_of(ops::linear(rig.context(), x, {{}, packed.get()}, {}).value), (std::vector<double>{3, 7}));
}

TEST_P(LinearTest, RowsOfAPackedProductDoNotDependOnTheOtherRows) {
  constexpr std::int64_t kRows = 70;
  for (const auto& [inputs, outputs] : {std::pair<std::int64_t, std::int64_t>{64, 96}, {33, 17}, {256, 512}}) {
    Rig rig(GetParam());
    const Tensor x = rig.matrix(kRows, inputs, random_values(kRows * inputs, 1));
    const auto packed = pack(rig, rig.matrix(outputs, inputs, random_values(outputs * inputs, 2)));
    const auto row_alone = [&](std::int64_t row) {
      const Variable one{x.row_range(row, row + 1), nullptr};
      return values_of(ops::linear(rig.context(), one, {{}, packed.get()}, {}).value);
    };
    for (const std::int64_t rows : {2, 3, 7, 8, 15, 16, 31, 32, 33, 64, 70}) {
      const Variable some{x.row_range(kRows - rows, kRows), nullptr};
      const Tensor y = ops::linear(rig.context(), some, {{}, packed.get()}, {}).value;
      for (const std::int64_t row : {std::int64_t{0}, rows / 2, rows - 1})
        ASSERT_EQ(values_of(y.row_range(row, row + 1)), row_alone(kRows - rows + row))
            << "row " << row << " of " << rows << ", " << inputs << " to " << outputs;
    }
  }
}

TEST_P(LinearTest, RefusesAGradientThroughAPackedWeight) {
  Rig rig(GetParam());
  rig.record();
  const Variable x = rig.variable(1, 2, std::vector<double>{1, 2}, true);
  const Variable weight = rig.constant(2, 2, std::vector<double>{1, 2, 3, 4});
  const auto packed = pack(rig, weight.value);
  try {
    ops::linear(rig.context(), x, {weight, packed.get()}, {});
    FAIL() << "a gradient through a packed weight was recorded";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("packed"), std::string::npos) << error.what();
  }
}

TEST_P(LinearTest, RefusesWrongShapes) {
  Rig rig(GetParam());
  const Variable x = rig.constant(1, 3, std::vector<double>{1, 2, 3});
  const Variable weight = rig.constant(2, 2, std::vector<double>{1, 2, 3, 4});
  const Variable narrow = rig.constant(1, 2, std::vector<double>{1, 2});
  EXPECT_THROW(ops::linear(rig.context(), x, {weight, nullptr}, {}), core::Error);
  EXPECT_THROW(ops::linear(rig.context(), narrow, {weight, nullptr}, x), core::Error);
  EXPECT_THROW(ops::linear_composite(rig.context(), x, {weight, nullptr}, {}, Activation::kNone), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
