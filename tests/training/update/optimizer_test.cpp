#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include <dragoman/core/random.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/training/optimizer.h>

namespace dragoman::training {
namespace {

using tensor::Device;

/// Two parameters and random gradients on a device.
class OptimizerOn : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    store_.add("a", 3, 5, 2, nn::Initialiser::normal(1));
    store_.add("b", 1, 7, 1, nn::Initialiser::constant(0.5));
    auto& memory = runtime_.memory(GetParam());
    store_.allocate(memory, runtime_.float_type(GetParam()), GetParam());
    store_.initialise(9);
    store_.attach_gradients(memory);
    context_ = runtime_.make_context(GetParam(), executor_);
  }

  Optimizer make(double clip_norm, double ema_decay) {
    Optimizer optimizer(store_, runtime_.memory(GetParam()), config_, clip_norm, ema_decay);
    if (ema_decay > 0) optimizer.start_average();
    return optimizer;
  }
  void set_gradients(std::uint64_t update) {
    for (const nn::Parameter& parameter : store_.all())
      for (std::int64_t i = 0; i < parameter.rows; ++i)
        for (std::int64_t j = 0; j < parameter.cols; ++j)
          tensor::set_element(parameter.gradient->value, i, j,
                              core::random_normal(update, parameter.name[0], static_cast<std::uint64_t>(i * 100 + j)));
  }
  static std::vector<double> values(const nn::ParameterStore& store, const tensor::Tensor& flat) {
    std::vector<double> result;
    const auto* base = static_cast<const char*>(store.flat_values().data);
    for (NamedTensor view : parameter_views(store)) {
      view.tensor.data = static_cast<char*>(flat.data) + (static_cast<const char*>(view.tensor.data) - base);
      for (std::int64_t i = 0; i < view.tensor.rows; ++i)
        for (std::int64_t j = 0; j < view.tensor.cols; ++j) result.push_back(tensor::element(view.tensor, i, j));
    }
    return result;
  }
  double tolerance() const { return GetParam() == Device::kReference ? 1e-12 : 1e-6; }

  OptimizerConfig config_{.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9};
  runtime::Runtime runtime_;
  core::SequentialExecutor executor_;
  std::unique_ptr<tensor::Context> context_;
  nn::ParameterStore store_;
};

/// A loss times a power of two leaves the same bits, with and without clipping.
TEST_P(OptimizerOn, AScaledLossRoundsNothing) {
  constexpr std::int64_t kScale = 4096;
  const auto trained_with = [&](std::int64_t scale, double clip_norm) {
    store_.initialise(9);
    Optimizer optimizer = make(clip_norm, 0);
    for (int t = 1; t <= 3; ++t) {
      set_gradients(static_cast<std::uint64_t>(t));
      for (const nn::Parameter& parameter : store_.all())
        for (std::int64_t i = 0; i < parameter.rows; ++i)
          for (std::int64_t j = 0; j < parameter.cols; ++j) {
            const tensor::Tensor& gradient = parameter.gradient->value;
            tensor::set_element(gradient, i, j, tensor::element(gradient, i, j) * static_cast<double>(scale));
          }
      optimizer.apply(*context_, {.update = t, .learning_rate = 0.1, .loss_scale = scale});
    }
    return values(store_, store_.flat_values());
  };
  for (const double clip_norm : {0.0, 1.0}) EXPECT_EQ(trained_with(kScale, clip_norm), trained_with(1, clip_norm));
}

TEST_P(OptimizerOn, FollowsAdamsPaper) {
  config_.weight_decay = 0.01;
  Optimizer optimizer = make(0, 0);
  std::vector<double> p = values(store_, store_.flat_values());
  std::vector<double> m(p.size());
  std::vector<double> v(p.size());
  for (int t = 1; t <= 5; ++t) {
    set_gradients(static_cast<std::uint64_t>(t));
    const std::vector<double> g = values(store_, store_.flat_gradients());
    optimizer.apply(*context_, {.update = t, .learning_rate = 0.1});
    for (std::size_t i = 0; i < p.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.98 * v[i] + 0.02 * g[i] * g[i];
      const double step = m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.98, t))) + 1e-9);
      p[i] -= 0.1 * (step + 0.01 * p[i]);
    }
  }
  const std::vector<double> trained = values(store_, store_.flat_values());
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(trained[i], p[i], 10 * tolerance());
}

TEST_P(OptimizerOn, AveragesParametersExponentially) {
  Optimizer optimizer = make(0, 0.6);
  std::vector<double> average = values(store_, store_.flat_values());
  for (int t = 1; t <= 12; ++t) {
    set_gradients(static_cast<std::uint64_t>(t));
    optimizer.apply(*context_, {.update = t, .learning_rate = 0.1});
    const std::vector<double> p = values(store_, store_.flat_values());
    const double decay = std::min(0.6, (1.0 + t) / (10.0 + t));
    for (std::size_t i = 0; i < p.size(); ++i) average[i] = decay * average[i] + (1 - decay) * p[i];
  }
  const std::vector<double> found = values(store_, optimizer.averaged_values());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], average[i], 10 * tolerance());
  EXPECT_NE(found, values(store_, store_.flat_values()));
}

TEST_P(OptimizerOn, ClipsTheGlobalNorm) {
  set_gradients(1);
  Optimizer optimizer = make(0.5, 0);
  double squares = 0;
  for (const double g : values(store_, store_.flat_gradients())) squares += g * g;
  ASSERT_GT(std::sqrt(squares), 0.5);
  optimizer.apply(*context_, {.learning_rate = 0.1});
  EXPECT_NEAR(optimizer.last().wait().gradient_norm, std::sqrt(squares), tolerance());
  // After one step the first moment is (1 - beta1) times the clipped gradient.
  double moment_squares = 0;
  const std::vector<OptimizerState> states = optimizer.states();
  ASSERT_EQ(states.at(0).name, "first_moment");
  for (const NamedTensor& moment : states[0].tensors)
    for (std::int64_t i = 0; i < moment.tensor.rows; ++i)
      for (std::int64_t j = 0; j < moment.tensor.cols; ++j)
        moment_squares += std::pow(tensor::element(moment.tensor, i, j), 2);
  EXPECT_NEAR(std::sqrt(moment_squares), 0.1 * 0.5, tolerance());
}

TEST_P(OptimizerOn, LeavesSmallGradientsAlone) {
  set_gradients(1);
  Optimizer clipped = make(1e6, 0);
  clipped.apply(*context_, {.learning_rate = 0.1});
  const std::vector<double> with_limit = values(store_, store_.flat_values());
  store_.initialise(9);
  make(0, 0).apply(*context_, {.learning_rate = 0.1});
  EXPECT_EQ(with_limit, values(store_, store_.flat_values()));
}

/// Whatever an update cannot be made of leaves everything as it was, and so does what was queued behind it.
TEST_P(OptimizerOn, HoldsWhatIsNotFinite) {
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kAdam, OptimizerKind::kLion,
                                   OptimizerKind::kSgd, OptimizerKind::kAdafactor}) {
    config_.kind = kind;
    config_.momentum = kind == OptimizerKind::kSgd ? 0.9 : config_.momentum;
    store_.initialise(9);
    Optimizer optimizer = make(1, 0.9);
    optimizer.start_average();
    const auto all = [&] {
      std::vector<std::vector<double>> kept{values(store_, store_.flat_values()),
                                            values(store_, optimizer.averaged_values())};
      for (const OptimizerState& state : optimizer.states()) {
        kept.emplace_back();
        for (const NamedTensor& moment : state.tensors)
          for (std::int64_t i = 0; i < moment.tensor.rows; ++i)
            for (std::int64_t j = 0; j < moment.tensor.cols; ++j)
              kept.back().push_back(tensor::element(moment.tensor, i, j));
      }
      return kept;
    };
    const auto apply = [&](std::int64_t update, double loss, bool depends_on_previous) {
      const std::array<ops::LossRecord, 2> losses{{{.loss = 1}, {.loss = loss}}};
      optimizer.apply(*context_, {.update = update,
                                  .learning_rate = 0.1,
                                  .losses = {losses.data(), 2},
                                  .depends_on_previous = depends_on_previous});
      return optimizer.last().wait();
    };
    set_gradients(1);
    EXPECT_EQ(apply(1, 2, false).step.skip, 0);
    const auto before = all();
    const double infinity = std::numeric_limits<double>::infinity();
    const ops::UpdateRecord of_loss = apply(2, infinity, false);
    EXPECT_EQ(of_loss.step.skip, 1);
    EXPECT_EQ(of_loss.losses.loss, infinity);
    EXPECT_TRUE(std::isfinite(of_loss.gradient_norm));
    EXPECT_EQ(all(), before);
    EXPECT_EQ(apply(3, 2, true).step.skip, 1) << "nobody has looked at the one before";
    EXPECT_EQ(all(), before);
    tensor::set_element(store_.all().front().gradient->value, 0, 0, std::nan(""));
    const ops::UpdateRecord of_gradient = apply(2, 2, false);
    EXPECT_EQ(of_gradient.step.skip, 1);
    EXPECT_EQ(of_gradient.losses.loss, 3);
    EXPECT_TRUE(std::isnan(of_gradient.gradient_norm));
    EXPECT_EQ(all(), before);
    set_gradients(2);
    EXPECT_EQ(apply(2, 2, false).step.skip, 0);
    EXPECT_NE(all(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, OptimizerOn, ::testing::Values(Device::kCpu, Device::kReference),
                         [](const auto& device) { return std::string(tensor::name_of(device.param)); });

}  // namespace
}  // namespace dragoman::training
