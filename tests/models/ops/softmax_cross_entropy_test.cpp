#include "op_harness.h"

#include <cmath>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/slice.h>
#include <dragoman/ops/softmax.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::testing {
namespace {

struct LossSetting {
  std::int64_t rows;
  std::int64_t width;
  std::int64_t vocabulary;
  double smoothing = 0;
  double scale = 1;
  bool with_bias = true;
};

std::vector<LossSetting> loss_settings() {
  return {{.rows = 1, .width = 3, .vocabulary = 2},
          {.rows = 1, .width = 4, .vocabulary = 1, .smoothing = 0.1},
          {.rows = 5, .width = 4, .vocabulary = 7, .with_bias = false},
          {.rows = 5, .width = 4, .vocabulary = 7, .smoothing = 0.1, .scale = 0.2},
          {.rows = 6, .width = 9, .vocabulary = 33, .smoothing = 0.3, .scale = -2, .with_bias = false},
          {.rows = 0, .width = 4, .vocabulary = 7, .smoothing = 0.1},
          // More rows than one chunk of logits holds.
          {.rows = 600, .width = 16, .vocabulary = 40, .smoothing = 0.1, .scale = 1.0 / 600}};
}

std::string describe(const LossSetting& setting, Device device) {
  return fmt::format("{} rows of {} to {} on {}", setting.rows, setting.width, setting.vocabulary, name_of(device));
}

std::vector<std::int32_t> targets_of(const LossSetting& setting) {
  std::vector<std::int32_t> targets;
  for (const double value : random_values(setting.rows, 50, 0, static_cast<double>(setting.vocabulary) - 0.001))
    targets.push_back(static_cast<std::int32_t>(value));
  return targets;
}

struct LossModel {
  Variable hidden;
  ops::Projection projection;
};

LossModel make_loss_model(Rig& rig, const LossSetting& setting) {
  const auto variable = [&](std::int64_t rows, std::int64_t cols, std::uint64_t stream) {
    return rig.variable(rows, cols, random_values(rows * cols, stream, -1.5, 1.5), true);
  };
  const Variable bias = setting.with_bias ? variable(1, setting.vocabulary, 3) : Variable{};
  return {variable(setting.rows, setting.width, 1), {{variable(setting.vocabulary, setting.width, 2), nullptr}, bias}};
}

struct LossOutcome {
  double loss = 0;
  double nll = 0;
  std::vector<double> hidden;
  std::vector<double> weight;
  std::vector<double> bias;
};

void collect_gradients(const LossModel& model, LossOutcome& outcome) {
  outcome.hidden = gradient_of(model.hidden);
  outcome.weight = gradient_of(model.projection.weight.value);
  if (!model.projection.bias.empty()) outcome.bias = gradient_of(model.projection.bias);
}

LossOutcome fused(Device device, const LossSetting& setting, int threads = 1) {
  Rig rig(device, threads);
  rig.record();
  const LossModel model = make_loss_model(rig, setting);
  const auto targets = targets_of(setting);
  const ops::LossSums sums =
      ops::softmax_cross_entropy(rig.context(), model.hidden, model.projection, rig.context().indices(targets),
                                 {.label_smoothing = setting.smoothing, .gradient_scale = setting.scale});
  EXPECT_EQ(sums.tokens, setting.rows);
  rig.tape().backward(rig.context());
  LossOutcome outcome;
  outcome.loss = sums.loss;
  outcome.nll = sums.negative_log_likelihood;
  collect_gradients(model, outcome);
  return outcome;
}

/// -log p summed against the smoothed target distribution, out of linear, log_softmax and weighted_sum.
LossOutcome composite(Device device, const LossSetting& setting) {
  Rig rig(device);
  rig.record();
  const LossModel model = make_loss_model(rig, setting);
  const auto targets = targets_of(setting);
  const Variable logits = ops::linear(rig.context(), model.hidden, model.projection.weight, model.projection.bias);
  const Variable log_probabilities = ops::log_softmax(rig.context(), logits);
  const auto vocabulary = static_cast<std::size_t>(setting.vocabulary);
  std::vector<double> distribution(static_cast<std::size_t>(setting.rows) * vocabulary,
                                   -setting.smoothing / static_cast<double>(setting.vocabulary));
  LossOutcome outcome;
  const std::vector<double> all = values_of(log_probabilities.value);
  for (std::size_t r = 0; r < targets.size(); ++r) {
    distribution[r * vocabulary + static_cast<std::size_t>(targets[r])] -= 1 - setting.smoothing;
    outcome.nll -= all[r * vocabulary + static_cast<std::size_t>(targets[r])];
  }
  const Variable loss =
      ops::weighted_sum(rig.context(), log_probabilities, rig.matrix(setting.rows, setting.vocabulary, distribution));
  outcome.loss = values_of(loss.value)[0];
  rig.backward(ops::scale(rig.context(), loss, setting.scale));
  collect_gradients(model, outcome);
  return outcome;
}

void expect_same(const LossOutcome& actual, const LossOutcome& expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * (1 + std::abs(expected.loss))) << what;
  EXPECT_NEAR(actual.nll, expected.nll, tolerance * (1 + std::abs(expected.nll))) << what;
  expect_close(actual.hidden, expected.hidden, tolerance, what + ": gradient of hidden");
  expect_close(actual.weight, expected.weight, tolerance, what + ": gradient of the weight");
  expect_close(actual.bias, expected.bias, tolerance, what + ": gradient of the bias");
}

TEST(SoftmaxCrossEntropy, EqualsTheComposite) {
  for (const LossSetting& setting : loss_settings()) {
    const LossOutcome exact = composite(Device::kReference, setting);
    expect_same(fused(Device::kReference, setting), exact, 1e-11, describe(setting, Device::kReference));
    expect_same(fused(Device::kCpu, setting), exact, 3e-5, describe(setting, Device::kCpu));
    expect_same(composite(Device::kCpu, setting), exact, 3e-5, describe(setting, Device::kCpu) + ", composite");
  }
}

TEST(SoftmaxCrossEntropy, NeedsTheGradientsScaleWithATape) {
  Rig rig(Device::kReference);
  const LossSetting setting{.rows = 3, .width = 4, .vocabulary = 7};
  const LossModel model = make_loss_model(rig, setting);
  const auto targets = targets_of(setting);
  const auto losses = [&] {
    return ops::cross_entropy_rows(rig.context(), model.hidden, model.projection, rig.context().indices(targets), 0,
                                   {});
  };
  EXPECT_EQ(losses().losses.cols, 3) << "without a tape there is no gradient to scale";
  rig.record();
  EXPECT_THROW(losses(), core::Error);
}

TEST(SoftmaxCrossEntropy, BitsDoNotDependOnTheNumberOfThreads) {
  for (const LossSetting& setting : loss_settings()) {
    const LossOutcome one = fused(Device::kCpu, setting, 1);
    for (const int threads : {2, 3}) {
      const LossOutcome many = fused(Device::kCpu, setting, threads);
      EXPECT_EQ(many.loss, one.loss);
      EXPECT_EQ(many.nll, one.nll);
      EXPECT_EQ(many.hidden, one.hidden);
      EXPECT_EQ(many.weight, one.weight);
      EXPECT_EQ(many.bias, one.bias);
    }
  }
}

class CrossEntropyTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(SoftmaxCrossEntropy, CrossEntropyTest, kAllDevices, device_name);

TEST_P(CrossEntropyTest, ComputesByHand) {
  // Logits 0, ln 2, ln 5: probabilities 1/8, 2/8, 5/8.
  Rig rig(GetParam());
  const Variable hidden = rig.constant(1, 1, std::vector<double>{1});
  const Variable weight = rig.constant(3, 1, std::vector<double>{0, std::log(2.0), std::log(5.0)});
  const std::vector<std::int32_t> target{1};
  const auto run = [&](double smoothing) {
    return ops::softmax_cross_entropy(rig.context(), hidden, {{weight, nullptr}, {}}, rig.context().indices(target),
                                      {.label_smoothing = smoothing});
  };
  const double mean = -(std::log(1.0 / 8) + std::log(2.0 / 8) + std::log(5.0 / 8)) / 3;
  EXPECT_NEAR(run(0).loss, std::log(4.0), 1e-6);
  EXPECT_NEAR(run(0.1).loss, 0.9 * std::log(4.0) + 0.1 * mean, 1e-6);
  EXPECT_NEAR(run(0.1).negative_log_likelihood, std::log(4.0), 1e-6);
}

TEST_P(CrossEntropyTest, ARowWithoutATargetDoesNotCount) {
  // More rows than one chunk of logits holds; every third has no target.
  const LossSetting setting{.rows = 600, .width = 5, .vocabulary = 7, .smoothing = 0.1, .scale = 0.5};
  std::vector<std::int32_t> targets = targets_of(setting);
  const auto run = [&](const std::vector<std::int32_t>& wanted) {
    Rig rig(GetParam());
    rig.record();
    const LossModel model = make_loss_model(rig, setting);
    const ops::LossSums sums =
        ops::softmax_cross_entropy(rig.context(), model.hidden, model.projection, rig.context().indices(wanted),
                                   {.label_smoothing = setting.smoothing, .gradient_scale = setting.scale});
    rig.tape().backward(rig.context());
    LossOutcome outcome;
    outcome.loss = sums.loss;
    collect_gradients(model, outcome);
    return std::pair(outcome, sums.tokens);
  };
  const auto [all, all_tokens] = run(targets);
  EXPECT_EQ(all_tokens, 600);
  for (std::size_t r = 0; r < targets.size(); r += 3) targets[r] = ops::kNoTarget;
  const auto [some, tokens] = run(targets);
  EXPECT_EQ(tokens, 400);
  EXPECT_LT(some.loss, all.loss);
  for (std::size_t i = 0; i < some.hidden.size(); ++i)
    ASSERT_EQ(some.hidden[i], i / 5 % 3 == 0 ? 0 : all.hidden[i]) << i;
}

TEST_P(CrossEntropyTest, ATiedWeightCollectsBothGradients) {
  // The same matrix looks up the input and projects the output; its gradient is the sum of what each use gives alone.
  const std::vector<double> table = random_values(7 * 4, 8);
  const std::vector<std::int32_t> inputs{1, 6, 1};
  const std::vector<std::int32_t> targets{6, 1, 0};
  const auto gradients = [&](bool as_input, bool as_output) {
    Rig rig(GetParam());
    rig.record();
    const Variable wanted = rig.variable(7, 4, table, true);
    const Variable fixed = rig.constant(7, 4, table);
    const Variable hidden =
        ops::embedding(rig.context(), rig.context().indices(inputs), as_input ? wanted : fixed, {}, {}, {});
    ops::softmax_cross_entropy(rig.context(), hidden, {{as_output ? wanted : fixed, nullptr}, {}},
                               rig.context().indices(targets), {});
    rig.tape().backward(rig.context());
    return gradient_of(wanted);
  };
  const auto both = gradients(true, true);
  const auto input = gradients(true, false);
  const auto output = gradients(false, true);
  std::vector<double> sum;
  for (std::size_t i = 0; i < input.size(); ++i) sum.push_back(input[i] + output[i]);
  expect_close(both, sum, 1e-6, "tied gradient");
}

TEST_P(CrossEntropyTest, SecondMicroBatchAddsToTheFirst) {
  const LossSetting setting{.rows = 5, .width = 4, .vocabulary = 7, .smoothing = 0.1};
  const LossOutcome once = fused(GetParam(), setting);
  Rig rig(GetParam());
  rig.record();
  const LossModel model = make_loss_model(rig, setting);
  const auto targets = targets_of(setting);
  for (int batch = 0; batch < 2; ++batch) {
    ops::softmax_cross_entropy(rig.context(), model.hidden, model.projection, rig.context().indices(targets),
                               {.label_smoothing = setting.smoothing});
    rig.tape().backward(rig.context());
  }
  std::vector<double> doubled = once.weight;
  for (double& value : doubled) value *= 2;
  expect_close(gradient_of(model.projection.weight.value), doubled, 1e-5, "weight");
}

TEST_P(CrossEntropyTest, GivesLogProbabilitiesOfTargets) {
  for (const LossSetting& setting : loss_settings()) {
    Rig rig(GetParam());
    rig.record();  // must not leave a trace on the tape
    const LossModel model = make_loss_model(rig, setting);
    const auto targets = targets_of(setting);
    std::vector<double> actual(targets.size());
    ops::target_log_probabilities(rig.context(), model.hidden.value, model.projection, rig.context().indices(targets),
                                  actual);

    Rig exact(Device::kReference);
    const LossModel copy = make_loss_model(exact, setting);
    const Tensor expected = ops::log_softmax(exact.context(), ops::linear(exact.context(), copy.hidden,
                                                                          copy.projection.weight, copy.projection.bias))
                                .value;
    for (std::size_t r = 0; r < targets.size(); ++r)
      EXPECT_NEAR(actual[r], tensor::element(expected, static_cast<std::int64_t>(r), targets[r]), 2e-5) << "row " << r;
    rig.tape().backward(rig.context());
    EXPECT_FALSE(model.hidden.gradient->written);
  }
}

TEST_P(CrossEntropyTest, WorksWithAPackedProjectionOutsideOfTraining) {
  const LossSetting setting{.rows = 6, .width = 32, .vocabulary = 50};
  Rig rig(GetParam());
  const LossModel model = make_loss_model(rig, setting);
  const auto targets = targets_of(setting);
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), model.projection.weight.value.value,
                                                                    tensor::ComputeType::kF32);
  const ops::Projection projection{{{}, packed.get()}, model.projection.bias};
  const auto plain = ops::softmax_cross_entropy(rig.context(), model.hidden, model.projection,
                                                rig.context().indices(targets), {.label_smoothing = 0.1});
  const auto fast = ops::softmax_cross_entropy(rig.context(), model.hidden, projection, rig.context().indices(targets),
                                               {.label_smoothing = 0.1});
  EXPECT_NEAR(fast.loss, plain.loss, 1e-4);
  rig.record();
  EXPECT_THROW(ops::softmax_cross_entropy(rig.context(), model.hidden, projection, rig.context().indices(targets), {}),
               core::Error);
}

TEST_P(CrossEntropyTest, RefusesTargetsThatDoNotFit) {
  Rig rig(GetParam());
  const LossModel model = make_loss_model(rig, {.rows = 2, .width = 3, .vocabulary = 4});
  std::vector<double> room(2);
  for (const std::vector<std::int32_t>& bad : {std::vector<std::int32_t>{0}, {0, 4}, {-2, 0}}) {
    const auto targets = rig.context().indices(bad);
    EXPECT_THROW(ops::softmax_cross_entropy(rig.context(), model.hidden, model.projection, targets, {}), core::Error);
    EXPECT_THROW(ops::target_log_probabilities(rig.context(), model.hidden.value, model.projection, targets, room),
                 core::Error);
  }
  const std::vector<std::int32_t> no_target = {ops::kNoTarget, 0};
  const auto without = rig.context().indices(no_target);
  EXPECT_THROW(ops::target_log_probabilities(rig.context(), model.hidden.value, model.projection, without, room),
               core::Error)
      << "there is no probability of nothing";
}

}  // namespace
}  // namespace dragoman::testing
