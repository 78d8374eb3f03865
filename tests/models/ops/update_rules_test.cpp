#include "op_harness.h"
#include "test_data.h"

#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/ops/adam.h>
#include <dragoman/ops/update_rules.h>

namespace dragoman::testing {
namespace {

/// A parameter and the moments that some rule keeps of it.
struct Trained {
  Trained(Rig& rig, std::int64_t rows, std::int64_t cols, const std::vector<double>& start)
      : parameters(rig.matrix(rows, cols, start)),
        first(zeros(rig, rows, cols)),
        second(zeros(rig, rows, cols)),
        row(zeros(rig, 1, rows)),
        column(zeros(rig, 1, cols)) {}

  static Tensor zeros(Rig& rig, std::int64_t rows, std::int64_t cols) {
    return rig.matrix(rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols)));
  }

  Tensor parameters, first, second, row, column;
};

using Steps = ops::DeviceArray<ops::UpdateStep>;
/// Makes one step of a rule.
using Rule = std::function<void(Context&, const Trained&, const Tensor& gradients, const Steps&)>;

Rule sgd(double momentum, bool nesterov, double decay) {
  return [=](Context& context, const Trained& trained, const Tensor& gradients, const Steps& step) {
    ops::sgd(context, {trained.parameters, gradients, momentum == 0 ? Tensor{} : trained.first, momentum, nesterov,
                       decay, step});
  };
}

Rule lion(double beta2) {
  return [=](Context& context, const Trained& trained, const Tensor& gradients, const Steps& step) {
    ops::lion(context, {trained.parameters, gradients, trained.first, 0.9, beta2, 0.1, step});
  };
}

Rule coupled_adam() {
  return [](Context& context, const Trained& trained, const Tensor& gradients, const Steps& step) {
    ops::adam(context, {.parameters = trained.parameters,
                        .gradients = gradients,
                        .first_moment = trained.first,
                        .second_moment = trained.second,
                        .weight_decay = 0.1,
                        .step = step,
                        .coupled = true});
  };
}

ops::AdafactorArguments adafactor_arguments(const Trained& trained, const Tensor& gradients, bool factored) {
  ops::AdafactorArguments arguments{.parameters = trained.parameters,
                                    .gradients = gradients,
                                    .row_moment = {},
                                    .column_moment = {},
                                    .second_moment = {}};
  if (factored) {
    arguments.row_moment = trained.row;
    arguments.column_moment = trained.column;
  } else {
    arguments.second_moment = trained.second;
  }
  return arguments;
}

Rule adafactor(bool factored) {
  return [=](Context& context, const Trained& trained, const Tensor& gradients, const Steps& step) {
    ops::AdafactorArguments arguments = adafactor_arguments(trained, gradients, factored);
    arguments.step = step;
    ops::adafactor(context, arguments);
  };
}

Rule unscaled_adafactor(double decay) {
  return [=](Context& context, const Trained& trained, const Tensor& gradients, const Steps& step) {
    ops::AdafactorArguments arguments = adafactor_arguments(trained, gradients, true);
    arguments.scale_parameter = false;
    arguments.clip_threshold = 0.7;
    arguments.weight_decay = decay;
    arguments.step = step;
    ops::adafactor(context, arguments);
  };
}

struct GoldenCase {
  const char* name;
  double learning_rate;
  Rule rule;
};

std::vector<GoldenCase> golden_cases() {
  return {{"adam_coupled", 0.01, coupled_adam()},
          {"sgd", 0.1, sgd(0, false, 0.1)},
          {"sgd_momentum", 0.1, sgd(0.9, false, 0)},
          {"sgd_nesterov", 0.1, sgd(0.9, true, 0.1)},
          {"lion", 0.01, lion(0.98)},
          {"adafactor_matrix", 0.05, adafactor(true)},
          {"adafactor_vector", 0.05, adafactor(true)},
          {"adafactor_vector", 0.05, adafactor(false)},
          {"adafactor_unscaled", 0.05, unscaled_adafactor(0.1)}};
}

class UpdateRulesTest : public ::testing::TestWithParam<Device> {
 protected:
  double tolerance() const { return GetParam() == Device::kReference ? 1e-10 : 1e-5; }
};
INSTANTIATE_TEST_SUITE_P(UpdateRules, UpdateRulesTest, kAllDevices, device_name);

TEST_P(UpdateRulesTest, FollowPyTorchAndThePapers) {
  const core::Json golden = core::load_json(golden_file("update_rules.json").string());
  for (const GoldenCase& rule : golden_cases()) {
    const core::Json& expected = golden[rule.name];
    const std::int64_t rows = expected["rows"], cols = expected["cols"];
    Rig rig(GetParam());
    const Trained trained(rig, rows, cols, expected["start"].get<std::vector<double>>());
    std::int64_t t = 0;
    for (const core::Json& step : expected["steps"]) {
      ++t;
      const Tensor gradients = rig.matrix(rows, cols, step["gradient"].get<std::vector<double>>());
      const Steps now = rig.context().upload_copy(ops::UpdateStep{.learning_rate = rule.learning_rate, .step = t});
      rule.rule(rig.context(), trained, gradients, now);
      expect_close(values_of(trained.parameters), step["parameters"].get<std::vector<double>>(), tolerance(),
                   std::string(rule.name) + ", step " + std::to_string(t));
    }
  }
}

/// Whether a rule takes flat buffers or matrices.
enum class Shape { kFlat, kMatrix };
struct ShapedRule {
  Shape shape;
  Rule rule;
};

/// Parameters after three steps on so many that they are split into several blocks.
std::vector<double> trained_values(Device device, int threads, const ShapedRule& shaped, double gradient_scale = 1) {
  const auto& [shape, rule] = shaped;
  const std::int64_t rows = shape == Shape::kFlat ? 1 : 131, cols = shape == Shape::kFlat ? 131 * 517 : 517;
  Rig rig(device, threads);
  const Trained trained(rig, rows, cols, random_values(rows * cols, 1));
  for (std::int64_t t = 1; t <= 3; ++t) {
    std::vector<double> gradient = random_values(rows * cols, static_cast<std::uint64_t>(10 + t));
    for (double& value : gradient) value /= gradient_scale;
    const Steps now =
        rig.context().upload_copy(ops::UpdateStep{.learning_rate = 0.01, .gradient_scale = gradient_scale, .step = t});
    rule(rig.context(), trained, rig.matrix(rows, cols, gradient), now);
  }
  return values_of(trained.parameters);
}

std::vector<ShapedRule> smooth_rules() {
  return {{Shape::kFlat, sgd(0.9, true, 0.1)},
          {Shape::kFlat, coupled_adam()},
          {Shape::kMatrix, adafactor(true)},
          {Shape::kMatrix, adafactor(false)},
          {Shape::kMatrix, unscaled_adafactor(0.1)}};
}

TEST_P(UpdateRulesTest, FollowTheReferenceOnManyParameters) {
  for (const ShapedRule& rule : smooth_rules())
    expect_close(trained_values(GetParam(), 1, rule), trained_values(Device::kReference, 1, rule), 1e-5, "parameters");
}

TEST_P(UpdateRulesTest, TheGradientScaleIsAppliedFirst) {
  for (const ShapedRule& rule : smooth_rules())
    expect_close(trained_values(GetParam(), 1, rule, 0.25), trained_values(GetParam(), 1, rule), 1e-5, "parameters");
}

TEST(UpdateRules, HaveTheSameBitsForAnyThreads) {
  std::vector<ShapedRule> rules = smooth_rules();
  rules.push_back({Shape::kFlat, lion(0.98)});
  rules.push_back({Shape::kFlat, sgd(0, false, 0.1)});
  for (const ShapedRule& rule : rules) {
    const std::vector<double> one = trained_values(Device::kCpu, 1, rule);
    EXPECT_EQ(trained_values(Device::kCpu, 2, rule), one);
    EXPECT_EQ(trained_values(Device::kCpu, 3, rule), one);
  }
}

TEST_P(UpdateRulesTest, LionStandsStillWhereNothingPulls) {
  Rig rig(GetParam());
  const Trained trained(rig, 1, 2, {3, -4});
  const Steps now = rig.context().upload_copy(ops::UpdateStep{.learning_rate = 0.5});
  ops::lion(rig.context(),
            {trained.parameters, rig.matrix(1, 2, std::vector<double>{0, 1e-3}), trained.first, 0.9, 0.99, 0, now});
  expect_close(values_of(trained.parameters), std::vector<double>{3, -4.5}, 1e-7, "parameters");
}

TEST_P(UpdateRulesTest, AdafactorTakesGradientsOfZeros) {
  Rig rig(GetParam());
  const Trained trained(rig, 2, 3, {1, 2, 3, 4, 5, 6});
  const Steps now = rig.context().upload_copy(ops::UpdateStep{.learning_rate = 0.5});
  ops::AdafactorArguments arguments = adafactor_arguments(trained, Trained::zeros(rig, 2, 3), true);
  arguments.step = now;
  ops::adafactor(rig.context(), arguments);
  expect_close(values_of(trained.parameters), std::vector<double>{1, 2, 3, 4, 5, 6}, 1e-7, "parameters");
}

TEST_P(UpdateRulesTest, ClipValuesKeepsWhatLiesWithin) {
  Rig rig(GetParam());
  const Tensor x = rig.matrix(2, 3, std::vector<double>{1, -2, 0.25, -0.5, 0.5, 30});
  ops::clip_values(rig.context(), x.col_range(1, 3), 0.5);
  EXPECT_EQ(values_of(x), (std::vector<double>{1, -0.5, 0.25, -0.5, 0.5, 0.5}));
  EXPECT_THROW(ops::clip_values(rig.context(), x, 0), core::Error);
}

TEST_P(UpdateRulesTest, RefuseBuffersOfOtherShapes) {
  Rig rig(GetParam());
  const Trained trained(rig, 2, 3, std::vector<double>(6));
  const Tensor other = Trained::zeros(rig, 3, 3);
  EXPECT_THROW(ops::sgd(rig.context(), {trained.parameters, other, {}, 0, false, 0, {}}), core::Error);
  EXPECT_THROW(ops::sgd(rig.context(), {trained.parameters, trained.first, {}, 0.9, false, 0, {}}), core::Error);
  EXPECT_THROW(ops::lion(rig.context(), {trained.parameters, trained.first, other, 0.9, 0.99, 0, {}}), core::Error);
  ops::AdafactorArguments arguments = adafactor_arguments(trained, trained.first, true);
  arguments.row_moment = trained.column;
  EXPECT_THROW(ops::adafactor(rig.context(), arguments), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
