#include <cmath>
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
      const double norm = optimizer.gradient_norm(*context_) / static_cast<double>(scale);
      optimizer.apply(*context_, t, 0.1, norm, scale);
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
    optimizer.apply(*context_, t, 0.1, optimizer.gradient_norm(*context_));
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
    optimizer.apply(*context_, t, 0.1, optimizer.gradient_norm(*context_));
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
  const double norm = optimizer.gradient_norm(*context_);
  double squares = 0;
  for (const double g : values(store_, store_.flat_gradients())) squares += g * g;
  EXPECT_NEAR(norm, std::sqrt(squares), tolerance());
  ASSERT_GT(norm, 0.5);
  optimizer.apply(*context_, 1, 0.1, norm);
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
  const double norm = clipped.gradient_norm(*context_);
  clipped.apply(*context_, 1, 0.1, norm);
  const std::vector<double> with_limit = values(store_, store_.flat_values());
  store_.initialise(9);
  make(0, 0).apply(*context_, 1, 0.1, norm);
  EXPECT_EQ(with_limit, values(store_, store_.flat_values()));
}

INSTANTIATE_TEST_SUITE_P(Devices, OptimizerOn, ::testing::Values(Device::kCpu, Device::kReference),
                         [](const auto& device) { return std::string(tensor::name_of(device.param)); });

}  // namespace
}  // namespace dragoman::training
