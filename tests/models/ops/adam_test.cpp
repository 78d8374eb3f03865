#include "op_harness.h"
#include "test_data.h"

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/ops/adam.h>

namespace dragoman::testing {
namespace {

class AdamTest : public ::testing::TestWithParam<Device> {
 protected:
  double tolerance() const { return GetParam() == Device::kReference ? 1e-10 : 1e-5; }
};
INSTANTIATE_TEST_SUITE_P(Adam, AdamTest, kAllDevices, device_name);

struct State {
  Tensor parameters;
  Tensor first_moment;
  Tensor second_moment;
};

State fresh_state(Rig& rig, const std::vector<double>& parameters) {
  const auto count = static_cast<std::int64_t>(parameters.size());
  const std::vector<double> zeros(parameters.size(), 0.0);
  return {rig.matrix(1, count, parameters), rig.matrix(1, count, zeros), rig.matrix(1, count, zeros)};
}

struct Options {
  double learning_rate = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0;
  double gradient_scale = 1;
  std::int64_t step = 1;
};

void step(Rig& rig, const State& state, const std::vector<double>& gradient, const Options& options) {
  const Tensor gradients = rig.matrix(1, static_cast<std::int64_t>(gradient.size()), gradient);
  ops::adam(rig.context(),
            {state.parameters, gradients, state.first_moment, state.second_moment, options.beta1, options.beta2,
             options.epsilon, options.weight_decay},
            {.learning_rate = options.learning_rate, .gradient_scale = options.gradient_scale, .step = options.step});
}

TEST_P(AdamTest, TwoStepsByHand) {
  // b1 = 0.5, b2 = 0.75, gradients 2 then 4.
  //   step 1: m = 1, v = 1;   corrected 2 and 4;             p = 1 - 0.1 * 2 / 2 = 0.9
  //   step 2: m = 2.5, v = 4.75; corrected 10/3 and 4.75/0.4375; p = 0.9 - 0.1 * (10/3) / sqrt(76/7)
  Rig rig(GetParam());
  const State state = fresh_state(rig, {1});
  Options options{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 0};
  step(rig, state, {2}, options);
  expect_close(values_of(state.parameters), std::vector<double>{0.9}, 1e-6, "first step");
  expect_close(values_of(state.first_moment), std::vector<double>{1}, 1e-6, "m");
  expect_close(values_of(state.second_moment), std::vector<double>{1}, 1e-6, "v");
  options.step = 2;
  step(rig, state, {4}, options);
  expect_close(values_of(state.parameters), std::vector<double>{0.9 - 0.1 * (10.0 / 3) / std::sqrt(76.0 / 7)}, 1e-6,
               "second step");
  expect_close(values_of(state.second_moment), std::vector<double>{4.75}, 1e-6, "v");
}

TEST_P(AdamTest, FollowsPyTorchsAdamW) {
  const core::Json golden = core::load_json(golden_file("torch.json").string());
  for (const char* name : {"adam", "adamw"}) {
    Rig rig(GetParam());
    const State state = fresh_state(rig, golden[name]["start"].get<std::vector<double>>());
    Options options{.learning_rate = 0.01, .weight_decay = golden[name]["weight_decay"].get<double>()};
    for (const core::Json& expected : golden[name]["steps"]) {
      step(rig, state, expected["gradient"].get<std::vector<double>>(), options);
      expect_close(values_of(state.parameters), expected["parameters"].get<std::vector<double>>(), tolerance(),
                   std::string(name) + ", step " + std::to_string(options.step));
      ++options.step;
    }
  }
}

TEST_P(AdamTest, TheGradientScaleIsAppliedFirst) {
  const std::vector<double> start = random_values(37, 1);
  const std::vector<double> gradient = random_values(37, 2);
  std::vector<double> halved;
  for (const double value : gradient) halved.push_back(value / 2);
  Rig rig(GetParam());
  const State scaled = fresh_state(rig, start);
  const State plain = fresh_state(rig, start);
  step(rig, scaled, gradient, {.learning_rate = 0.1, .gradient_scale = 0.5});
  step(rig, plain, halved, {.learning_rate = 0.1});
  expect_close(values_of(scaled.parameters), values_of(plain.parameters), 1e-6, "parameters");
  expect_close(values_of(scaled.second_moment), values_of(plain.second_moment), 1e-6, "v");
}

TEST(Adam, CpuFollowsTheReferenceWithTheSameBitsForAnyThreads) {
  constexpr std::int64_t kCount = 100003;
  const auto run = [&](Device device, int threads) {
    Rig rig(device, threads);
    const State state = fresh_state(rig, random_values(kCount, 1));
    for (std::int64_t i = 1; i <= 3; ++i)
      step(rig, state, random_values(kCount, static_cast<std::uint64_t>(10 + i)),
           {.learning_rate = 0.01, .weight_decay = 0.01, .step = i});
    return values_of(state.parameters);
  };
  const std::vector<double> one = run(Device::kCpu, 1);
  expect_close(one, run(Device::kReference, 1), 1e-5, "parameters");
  EXPECT_EQ(run(Device::kCpu, 2), one);
  EXPECT_EQ(run(Device::kCpu, 3), one);
}

TEST_P(AdamTest, RefusesBuffersOfDifferentSizesAndStepsBelowOne) {
  Rig rig(GetParam());
  const State state = fresh_state(rig, {1, 2});
  EXPECT_THROW(step(rig, state, {1, 2, 3}, {}), core::Error);
  EXPECT_THROW(step(rig, state, {1, 2}, {.step = 0}), core::Error);
}

TEST_P(AdamTest, SumsSquares) {
  Rig rig(GetParam());
  const Tensor x = rig.matrix(2, 3, std::vector<double>{1, -2, 3, 4, -5, 6});
  EXPECT_EQ(ops::sum_of_squares(rig.context(), x), 91);
  EXPECT_EQ(ops::sum_of_squares(rig.context(), x.col_range(1, 3)), 4 + 9 + 25 + 36);
  EXPECT_EQ(ops::sum_of_squares(rig.context(), rig.matrix(1, 0, {})), 0);
}

TEST_P(AdamTest, AMovingAverageForgetsByItsDecay) {
  Rig rig(GetParam());
  const Tensor average = rig.matrix(1, 3, std::vector<double>{1, 2, -4});
  const Tensor values = rig.matrix(1, 3, std::vector<double>{0, 10, 4});
  ops::moving_average(rig.context(),
                      {average, values, rig.context().upload_copy(ops::UpdateStep{.average_decay = 0.75})});
  expect_close(values_of(average), std::vector<double>{0.75, 4, -2}, 1e-7, "average");
  EXPECT_THROW(ops::moving_average(rig.context(), {average, values.col_range(0, 2), {}}), core::Error);
}

TEST(SumOfSquares, LosesNothingOverManyElements) {
  // In single precision the sum would stop growing at 2^24.
  constexpr std::int64_t kCount = (std::int64_t{1} << 24) + 1001;
  double first = 0;
  for (const int threads : {1, 2, 3}) {
    Rig rig(Device::kCpu, threads);
    const Tensor x = rig.context().allocate(1, kCount);
    std::fill_n(x.as<float>(), kCount, 1.0F);
    EXPECT_EQ(ops::sum_of_squares(rig.context(), x), static_cast<double>(kCount));
    const Tensor noise = rig.matrix(1, 100003, random_values(100003, 4));
    const double sum = ops::sum_of_squares(rig.context(), noise);
    if (threads == 1) first = sum;
    EXPECT_EQ(sum, first);
  }
}

}  // namespace
}  // namespace dragoman::testing
